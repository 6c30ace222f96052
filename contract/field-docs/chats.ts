import type { FieldDocs } from './field-doc.ts';
import * as sample from './sample-values.ts';

const GROUP_JID = '120363041234567890@g.us';
const MUTED_SECONDS = 3600;
const GROUP_FIELDS = ['Group', 'GroupCreated', 'GroupSummary'].flatMap(
  (owner): [string, FieldDocs[string]][] => [
    [`${owner}.description`, ['The description of the group', 'Questions of clients, on weekdays']],
    [`${owner}.owner_jid`, ['The JID of the creator; null when the network does not report it', sample.JID]],
    [`${owner}.participants`, ['The participants of the group']],
  ],
);

/** Fields of chats, contacts, labels, notes, groups, presence, profiles, business data, calls and what superadmins see of them. */
export const chatDocs: FieldDocs = {
  ...Object.fromEntries(GROUP_FIELDS),

  // Chats and contacts
  'ArchiveChatRequest.archived': ['true archives the chat, false takes it out of the archive'],
  'BlockedContact.blocked': ['Whether the contact is blocked: its messages do not arrive', true],
  'Chat.archived': ['Whether the chat is archived', false],
  'Chat.labels': ['The label_ids of the chat', ['3']],
  'Chat.last_message': ['The newest message of the chat; null when none is known'],
  'Chat.last_message.preview': [
    'The beginning of the text or caption; empty when there is none',
    'See you at noon',
  ],
  'Chat.muted': ['Whether the chat is muted now', false],
  'Chat.pinned': ['Whether the chat is pinned to the top', true],
  'CheckContactsRequest.phones': ['The phone numbers to check'],
  'CheckedContacts.contacts.is_business': ['Whether the account is a business account', false],
  'Contact.blocked': ['Whether the contact is blocked: its messages do not arrive', false],
  'Contact.saved': ['Whether the contact is in the address book of the phone', true],
  'HistorySyncedEvent.chats': ['The number of new chats', 120],
  'HistorySyncedEvent.contacts': ['The number of new contacts', 85],
  'HistorySyncedEvent.messages': ['The number of new messages', 4210],
  'MuteChatRequest.duration_seconds': [
    'The length of the mute in seconds; without this and until the mute has no end',
    MUTED_SECONDS,
  ],
  'MuteChatRequest.muted': ['true mutes the chat, false unmutes it'],
  'PinChatRequest.pinned': ['true pins the chat, false unpins it'],

  // Labels and notes
  'ChatNote.author_user_id': ['The id of the user who wrote the note, or whose API key wrote it', 7],
  'ChatNote.note': ['The text of the note', 'called back, wants an offer'],
  'ChatNoteList.notes': ['The notes, newest first'],
  'ChatNoteRequest.note': ['The text of the note'],
  'LabelChats.chats': ['The JIDs of the chats that bear the label, each once', [sample.JID]],
  'LabelList.labels': ['The labels, ordered by slot'],

  // Groups
  'CreateGroupRequest.participants': ['The participants to add, as phone numbers or JIDs'],
  'GroupInvite.link': [
    'The link with which anybody can join',
    'https://chat.whatsapp.com/AbCdEfGhIjKlMnOpQrStUv',
  ],
  'GroupLeft.left': ['Confirms that the instance has left the group', true],
  'GroupParticipantsChanged.results': ['The outcome for each participant'],
  'GroupParticipantsChanged.results.action': ['The requested action', 'add'],
  'GroupParticipantsChanged.results.done': ['Whether the network carried it out', true],
  'GroupParticipantsEvent.action': ['The change that was made', 'add'],
  'GroupParticipantsEvent.by': [
    'The JID of the participant who made the change; null when the network does not report it',
    sample.JID,
  ],
  'GroupParticipantsEvent.participants': ['The participants who were added, removed, promoted or demoted'],
  'GroupParticipantsRequest.add': ['The participants to add, as phone numbers or JIDs'],
  'GroupParticipantsRequest.demote': ['The admins to demote to members'],
  'GroupParticipantsRequest.promote': ['The members to promote to admins'],
  'GroupParticipantsRequest.remove': ['The participants to remove'],
  'GroupSummary.participant_count': ['The number of participants', 12],
  'GroupUpdatedEvent.announce': ['Whether only admins may send', true],
  'GroupUpdatedEvent.by': [
    'The JID of the participant who made the change; null when the network does not report it',
    sample.JID,
  ],
  'GroupUpdatedEvent.description': ['The new description of the group'],
  'GroupUpdatedEvent.locked': ['Whether only admins may change the name and the description', false],
  'UpdateGroupRequest.announce': ['Whether only admins may send'],
  'UpdateGroupRequest.description': ['The new description of the group'],
  'UpdateGroupRequest.locked': ['Whether only admins may change the name and the description'],

  // Presence, profile, calls and anonymous ids
  'CallReceivedEvent.call_id': ['The id of the call on the network', '3EB0C0FFEE00000000'],
  'CallReceivedEvent.group_jid': ['The JID of the group that was called; null for a direct call', GROUP_JID],
  'CallReceivedEvent.is_video': ['Whether it is a video call', false],
  'Lid.lid': ['The anonymous id', '123456789012345@lid'],
  'PresenceEvent.last_seen': [
    'When the contact was last online; null when the network does not report it',
    null,
  ],
  'PresenceEvent.state': ['Whether the contact is online, or its activity in the chat', 'available'],
  'PresenceSet.state': ['The presence that is shown now', 'composing'],
  'PresenceSubscribed.subscribed': [
    'Confirms that presence.updated will report the presence of the contact',
    true,
  ],
  'Profile.about': ['The about text, shown under the name', 'Ask us'],
  'Profile.picture_url': [
    'The URL of the picture at the network; null without one',
    'https://pps.example.com/1.jpg',
  ],
  'UpdateProfileRequest.about': ['The about text, shown under the name'],

  // Business data
  'BusinessProfile.address': ['The postal address', 'Av. Paulista 1000, Sao Paulo'],
  'BusinessProfile.description': [
    'The description that the business gives of itself',
    'Flowers for every day',
  ],
  'BusinessProfile.business_hours': ['The opening hours'],
  'BusinessProfile.business_hours.close_time': [
    'The closing time, in the time zone of the business',
    '18:00',
  ],
  'BusinessProfile.business_hours.day_of_week': ['The day of the week', 'mon'],
  'BusinessProfile.business_hours.mode': [
    'The mode: specific_hours, open_24h or appointment_only',
    'specific_hours',
  ],
  'BusinessProfile.business_hours.open_time': ['The opening time, in the time zone of the business', '09:00'],
  'BusinessProfile.business_hours_timezone': ['The time zone of the opening hours', 'America/Sao_Paulo'],
  'BusinessProfile.categories': ['The categories of the business'],
  'BusinessProfile.categories.id': ['The id of the category on the network', '1223524174334504'],
  'Catalog.products': ['The products of this page'],
  'Collections.collections': ['The collections'],
  'Collections.collections.id': ['The id of the collection on the network', '5417'],
  'Collections.collections.products': ['The products of the collection'],
  'Collections.collections.status': ["The state of the network's review", 'approved'],
  'CreateTemplateRequest.components.type': ['The kind of component', 'BODY'],
  'CreateTemplateRequest.components.buttons': ['The buttons of a BUTTONS component'],
  'CreateTemplateRequest.components.buttons.type': ['The kind of button', 'QUICK_REPLY'],
  'CreateTemplateRequest.components.buttons.text': ['The text on the button', 'Thanks'],
  'CreateTemplateRequest.components.buttons.url': [
    'The URL that the button opens',
    'https://shop.example/track/{{1}}',
  ],
  'CreateTemplateRequest.components.buttons.phone_number': [
    'The phone number that the button calls',
    '+5511999990000',
  ],
  'CreateTemplateRequest.components.buttons.otp_type': [
    'AUTHENTICATION: how the recipient takes over the code',
    'COPY_CODE',
  ],
  'CreateTemplateRequest.components.buttons.flow_id': [
    'The id at Meta of the flow that the button opens',
    '6402',
  ],
  'MessageTemplate.id': ['The id of the template at Meta', '594425479261596'],
  'MessageTemplate.name': ['The name of the template', 'order_shipped'],
  'MessageTemplate.language': ['The language of the text', 'en_US'],
  'MessageTemplate.category': ['The category: MARKETING, UTILITY or AUTHENTICATION', 'UTILITY'],
  'MessageTemplate.status': [
    'The state at Meta: PENDING, APPROVED, REJECTED, PAUSED, DISABLED, ...; only APPROVED ones can be sent',
    'APPROVED',
  ],
  'MessageTemplate.rejected_reason': [
    'The reason that Meta gives; null unless the template was rejected',
    null,
  ],
  'MessageTemplate.quality': [
    'The rating by Meta: GREEN, YELLOW, RED or UNKNOWN; null when Meta gives none',
    'GREEN',
  ],
  'MessageTemplate.components': [
    'The components of the template, as Meta returns them',
    [{ type: 'BODY', text: 'Your order is on its way.' }],
  ],
  'MessageTemplateList.templates': ['The templates of this page'],
  'Product.description': ['The description of the product', 'Ground, 500 g'],
  'Product.id': ['The id of the product on the network', '6402'],
  'Product.image_url': [
    'The URL of the picture, stored by this service; empty when it could not be fetched',
    `https://api.example.com/v1/instances/${sample.INSTANCE_ID}/media/${sample.MEDIA_ID}`,
  ],
  'Product.is_hidden': ['Whether the product is hidden from customers', false],
  'Product.retailer_id': ['The number that the business gave the product', 'SKU-17'],
  'Product.review_status': ["The state of the network's review", 'approved'],

  // Playground, feedback and what superadmins see
  'AdminInstance.driver': ['The messaging network, e.g. sandbox', 'sandbox'],
  'AdminInstance.proxy': [
    'The proxy to the network, without its password; null for a direct connection',
    null,
  ],
  'AdminInstance.restriction': [
    'The restriction that the network has imposed on the account, e.g. banned; null when there is none',
    null,
  ],
  'AdminInstance.state': ['The present state', 'CONNECTED'],
  'Feedback.kind': ['The kind of feedback', 'idea'],
  'Feedback.page': ['The page on which the user wrote it; null when it was not given', '/inbox'],
  'Feedback.state': ['Whether the feedback was dealt with', 'open'],
  'Feedback.user_email': [
    'The e-mail address of the user who wrote it; null when the account is gone',
    'olga@acme.example',
  ],
  'FeedbackRequest.kind': ['The kind of feedback'],
  'UpdateFeedbackRequest.state': ['Whether the feedback was dealt with'],
  'IpReputation.ip': ['The address that was checked', '203.0.113.7'],
  'IpReputation.zones': ['The answer of each list'],
  'IpReputation.zones.zone': ['The name of the list', 'zen.example.org'],
  'IpReputationList.results': ['One result for each address'],
  'Playground.budget': ['The budget of the user for today'],
  'Playground.budget.remaining': ['The number of sends left', 49],
  'Playground.budget.resets_at': ['When the budget is full again', '2026-02-01T00:00:00.000Z'],
  'Playground.enabled': ['Whether the playground is enabled in this installation', true],
  'Playground.kinds': ['The kinds of content that can be sent', ['text', 'image']],
  'PlaygroundRequest.address': ['The address of a location'],
  'PlaygroundRequest.contact_phone': ['The phone number of the contact, E.164 with a leading +'],
  'PlaygroundRequest.contacts': ['The contacts, when there are several'],
  'PlaygroundRequest.contacts.contact_phone': ['The phone number of the contact, E.164 with a leading +'],
  'PlaygroundRequest.contacts.vcard': ['A vCard 3.0 of one contact'],
  'PlaygroundRequest.media_base64': ['The media, as base64 or a data URI'],
  'PlaygroundRequest.media_url': ['The URL of the media'],
  'PlaygroundRequest.ptt': ['Whether the audio is a voice note'],
  'PlaygroundRequest.vcard': ['A vCard 3.0 of one contact'],
  'PlaygroundRequest.view_once': ['Whether the recipient can open the media only once'],
  'PlaygroundMessage.events': ['The events of the message, oldest first', [{ type: 'message.sent' }]],
  'PlaygroundSent.request.cli': [
    'The same send with msgctl',
    'msgctl send text --to +5511999990000 --text hello',
  ],
  'PlaygroundSent.request.curl': ['The same send with curl', 'curl -X POST https://api.example.com/...'],
  'PlaygroundSent.request.sdk': ['The same send with the SDK', 'await client.messages.sendText({ ... })'],
};
