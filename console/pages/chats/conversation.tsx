import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import type { Message } from '@posthorn/sdk/index.ts';
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { textOfMessage } from '../../api/message-status.tsx';
import { Shown } from '../../api/shown.tsx';
import { MoreButton } from '../../components/more-button.tsx';
import { Bubble } from './bubble.tsx';
import { ChatHeader } from './chat-header.tsx';
import { Composer } from './composer.tsx';
import { foldReactions } from './fold-reactions.ts';
import { useConversation } from './use-chats.ts';
import { useMessageAct } from './use-composer.ts';
import { WindowNote } from './window-note.tsx';

/** The messages of a chat, the newest at the bottom, with the composer below them. */
export function Conversation(props: { instanceId: string; chatId: string; show: string | undefined }) {
  const { t } = useTranslation();
  const { instanceId, chatId } = props;
  const messages = useConversation(instanceId, chatId);
  const act = useMessageAct(instanceId, chatId);
  const [quoted, quote] = useState<Message | null>(null);
  const [edited, edit] = useState<Message | null>(null);
  // The user may have chosen another message while the change to this one was on its way.
  const dropOf = (id: string | undefined) => (now: Message | null) => (now?.message_id === id ? null : now);
  return (
    <section className="second-pane" aria-label={t('chats.conversation')} tabIndex={-1} ref={useEntered()}>
      <ChatHeader {...props} />
      <Shown query={messages}>
        {(rows) =>
          rows.length === 0 ? (
            <Text size="sm" c="dimmed" ta="center" p="xl" flex={1}>
              {t('chats.noMessages')}
            </Text>
          ) : (
            <Stack component="ol" className="conversation" aria-label={t('chats.messages')} tabIndex={0}>
              <Bubbles rows={rows} act={act} onQuote={quote} onEdit={edit} />
              {messages.hasNextPage && (
                <li>
                  <MoreButton list={messages} />
                </li>
              )}
            </Stack>
          )
        }
      </Shown>
      {act.error && <ApiError error={act.error} />}
      <WindowNote instanceId={instanceId} chatId={chatId} />
      {quoted && <Quote message={quoted} onDrop={() => quote(null)} />}
      <Composer
        key={edited?.message_id ?? 'new'}
        instanceId={instanceId}
        chatId={chatId}
        quotedId={quoted?.message_id}
        edited={edited}
        act={act}
        onDone={(id) => {
          quote(dropOf(id));
          edit(dropOf(id));
        }}
      />
    </section>
  );
}

/**
 * A ref for a conversation that takes the focus when the user opens it by its row: into the field, past the other chats
 * and the buttons of every message. On a touch screen that would open the keyboard.
 */
function useEntered(): RefObject<HTMLElement | null> {
  const pane = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!document.activeElement?.closest('.chat-row')) return;
    const isTouched = matchMedia('(hover: none)').matches;
    const entered = isTouched ? pane.current : pane.current?.querySelector('textarea');
    entered?.focus({ preventScroll: true });
  }, []);
  return pane;
}

function Bubbles(props: {
  rows: readonly Message[];
  act: ReturnType<typeof useMessageAct>;
  onQuote: (message: Message) => void;
  onEdit: (message: Message) => void;
}) {
  const { rows, act, onQuote, onEdit } = props;
  const { shown, reactionsOf } = useMemo(() => foldReactions(rows), [rows]);
  // A quote names the message by our id or by that of the network.
  const byId = useMemo(
    () =>
      new Map(
        rows.flatMap((row) => [
          [row.message_id, row],
          [row.network_id, row],
        ]),
      ),
    [rows],
  );
  return shown.map((message) => (
    <Bubble
      key={message.message_id}
      message={message}
      reactions={reactionsOf(message)}
      quoted={message.quoted_id ? byId.get(message.quoted_id) : undefined}
      act={act.mutate}
      onQuote={onQuote}
      onEdit={onEdit}
    />
  ));
}

function Quote({ message, onDrop }: { message: Message; onDrop: () => void }) {
  const { t } = useTranslation();
  return (
    <Alert variant="outline" color="gray" mx="xs" py="xs">
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" className="one-line">
          {t('chats.replyTo', { text: textOfMessage(message) || message.message_type })}
        </Text>
        <Button size="compact-xs" variant="default" onClick={onDrop}>
          {t('common.actions.cancel')}
        </Button>
      </Group>
    </Alert>
  );
}
