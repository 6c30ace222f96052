import type { Command } from '../command.ts';
import { calls } from '../endpoints/calls.ts';

export const chats: readonly Command[] = [
  calls('chats list', 'chats.list'),
  calls('chats get', 'chats.get'),
  calls('chats read', 'chats.read'),
  calls('chats archive', 'chats.archive'),
  calls('chats pin', 'chats.pin'),
  calls('chats mute', 'chats.mute'),
  calls('contacts list', 'contacts.list'),
  calls('contacts get', 'contacts.get'),
  calls('contacts check', 'contacts.check'),
  calls('contacts block', 'contacts.block', { destroys: 'This blocks the contact' }),
  calls('contacts unblock', 'contacts.unblock', { destroys: 'This lets the contact write again' }),
  calls('labels list', 'labels.list'),
  calls('labels create', 'labels.create'),
  calls('labels update', 'labels.update'),
  calls('labels delete', 'labels.remove', {
    destroys: 'This deletes the label, and takes it off all chats and messages',
  }),
  calls('labels chats', 'labels.listChats'),
  calls('labels add-to-chat', 'labels.addToChat'),
  calls('labels remove-from-chat', 'labels.removeFromChat', {
    destroys: 'This takes the label off the chat',
  }),
  calls('labels add-to-message', 'labels.addToMessage'),
  calls('labels remove-from-message', 'labels.removeFromMessage', {
    destroys: 'This takes the label off the message',
  }),
  calls('notes list', 'notes.list'),
  calls('notes create', 'notes.create'),
  calls('notes update', 'notes.update'),
  calls('notes delete', 'notes.remove', { destroys: 'This deletes the note' }),
  calls('groups create', 'groups.create'),
  calls('groups list', 'groups.list'),
  calls('groups get', 'groups.get'),
  calls('groups update', 'groups.update'),
  calls('groups participants', 'groups.changeParticipants'),
  calls('groups invite', 'groups.invite'),
  calls('groups revoke-invite', 'groups.revokeInvite', {
    destroys: 'This voids the invite link of the group',
  }),
  calls('groups join', 'groups.join'),
  calls('groups leave', 'groups.leave', { destroys: 'This takes the instance out of the group' }),
  calls('lids get', 'lids.get'),
];
