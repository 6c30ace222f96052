import { Button, Checkbox, Drawer, Group, Stack, Text, Textarea, Title } from '@mantine/core';
import type { Contact, Group as GroupRecord } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { ApiError } from '../../api/api-error.tsx';
import { MutationForm } from '../../api/mutation-form.tsx';
import { useIsOfficial } from '../../api/official.ts';
import { Shown } from '../../api/shown.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { Facts } from '../../components/facts.tsx';
import { shortText } from '../../components/row-button.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useChat } from './use-chats.ts';
import { useBlock, useLabels, useNotes, useParty } from './use-details.ts';

interface Of {
  instanceId: string;
  chatId: string;
}

/** Shows the contact or group, with labels and notes for owners and admins. */
export function ChatDetails({ onClose, ...of }: Of & { onClose: () => void }) {
  const { t } = useTranslation();
  const party = useParty(of.instanceId, of.chatId);
  const isOfficial = useIsOfficial(of.instanceId);
  const mayManage = useMayManage();
  return (
    <Drawer
      opened
      position="right"
      title={t('chats.details.title')}
      closeButtonProps={{ 'aria-label': t('common.actions.back') }}
      onClose={onClose}
    >
      <Stack gap="lg">
        <CopyText label={t('common.fields.id')} text={of.chatId} />
        <Shown query={party}>
          {({ group, contact }) =>
            group ? (
              <GroupFacts group={group} />
            ) : contact ? (
              <ContactFacts {...of} contact={contact} />
            ) : (
              <Text size="sm">{t('chats.details.unknown')}</Text>
            )
          }
        </Shown>
        {mayManage && (
          <>
            {!isOfficial && <Labels {...of} />}
            <Notes {...of} />
          </>
        )}
      </Stack>
    </Drawer>
  );
}

function ContactFacts({ contact, ...of }: Of & { contact: Contact }) {
  const { t } = useTranslation();
  const block = useBlock(of.instanceId, of.chatId);
  return (
    <>
      <Facts
        facts={[
          [t('common.fields.name'), contact.name],
          [t('chats.details.pushName'), contact.push_name],
          [t('instances.phone'), contact.phone],
        ]}
      />
      <div>
        <Button variant="default" loading={block.isPending} onClick={() => block.mutate(!contact.blocked)}>
          {t(contact.blocked ? 'chats.details.unblock' : 'chats.details.block')}
        </Button>
      </div>
      {block.error && <ApiError error={block.error} />}
    </>
  );
}

function GroupFacts({ group }: { group: GroupRecord }) {
  const { t } = useTranslation();
  return (
    <Facts
      facts={[
        [t('common.fields.name'), group.name],
        [t('chats.details.description'), group.description],
        [
          t('chats.details.people', { count: group.participants.length }),
          group.participants
            .map(({ phone, jid, role }) =>
              [phone || jid, role !== 'member' && `(${t(`chats.details.roles.${role}`)})`]
                .filter(Boolean)
                .join(' '),
            )
            .join('\n'),
        ],
      ]}
    />
  );
}

function Labels({ instanceId, chatId }: Of) {
  const { t } = useTranslation();
  const { labels, toggle } = useLabels(instanceId, chatId);
  const { data: chat } = useChat(instanceId, chatId);
  return (
    <Stack gap="xs">
      <Title order={3} size="h6">
        {t('chats.details.labels')}
      </Title>
      <Shown query={labels}>
        {(list) =>
          list.length === 0 ? (
            <Text size="sm">{t('chats.details.noLabels')}</Text>
          ) : (
            list.map(({ label_id: labelId, name }) => (
              <Checkbox
                key={labelId}
                label={<span className="foreign">{name}</span>}
                checked={chat?.labels.includes(labelId) ?? false}
                disabled={toggle.isPending}
                onChange={(event) => toggle.mutate({ labelId, on: event.target.checked })}
              />
            ))
          )
        }
      </Shown>
      {toggle.error && <ApiError error={toggle.error} />}
    </Stack>
  );
}

function Notes({ instanceId, chatId }: Of) {
  const { t } = useTranslation();
  const { notes, add, remove } = useNotes(instanceId, chatId);
  const [text, setText] = useState('');
  return (
    <Stack gap="xs">
      <Title order={3} size="h6">
        {t('chats.details.notes')}
      </Title>
      <MutationForm
        label={t('chats.details.addNote')}
        mutation={add}
        onSubmit={() => add.mutate(text, { onSuccess: () => setText('') })}
      >
        <Textarea
          label={t('chats.details.note')}
          description={t('chats.details.noteHint')}
          required
          autosize
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </MutationForm>
      <Shown query={notes}>
        {(list) =>
          list.map(({ id, note, created_at: at }) => (
            <Stack key={id} gap={4}>
              <Text size="sm" className="foreign">
                {note}
              </Text>
              <Group gap="xs" justify="space-between">
                <Text size="xs" c="dimmed">
                  <TimeText at={at} shows="both" />
                </Text>
                <ConfirmButton
                  label={t('chats.details.removeNote')}
                  thing={shortText(note)}
                  text={t('chats.details.removeNoteText')}
                  busy={remove.isPending}
                  isInRow
                  onConfirm={() => remove.mutate(id)}
                />
              </Group>
            </Stack>
          ))
        }
      </Shown>
    </Stack>
  );
}
