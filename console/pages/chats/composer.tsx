import { Button, FileButton, Group, Text, Textarea } from '@mantine/core';
import type { Message } from '@posthorn/sdk/index.ts';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { textOfMessage } from '../../api/message-status.tsx';
import { useDraft } from '../../api/use-draft.ts';
import { isPassing } from '../../session/connection.ts';
import { useComposer, type useMessageAct } from './use-composer.ts';

const MENU_CLOSED_MS = 200;

/** Writes a message, or changes one. Enter sends, with Shift it breaks the line. */
export function Composer(props: {
  instanceId: string;
  chatId: string;
  quotedId: string | undefined;
  edited: Message | null;
  act: ReturnType<typeof useMessageAct>;
  onDone: () => void;
}) {
  const { t } = useTranslation();
  const { edited, act, onDone, quotedId } = props;
  const [text, setText] = useDraft(
    `chat ${props.instanceId} ${props.chatId} ${edited?.message_id ?? 'text'}`,
    edited ? textOfMessage(edited) : '',
  );
  const [file, setFile] = useState<File | null>(null);
  const { send, changed } = useComposer(props.instanceId, props.chatId);
  const isBusy = send.isPending || act.isPending;
  const field = useRef<HTMLTextAreaElement>(null);
  // The menu of the message that is answered or changed gives the focus back as it closes.
  const isAsked = edited !== null || quotedId !== undefined;
  useEffect(() => {
    if (!isAsked) return;
    const timer = setTimeout(() => field.current?.focus(), MENU_CLOSED_MS);
    return () => clearTimeout(timer);
  }, [isAsked]);

  function submit(): void {
    if (isBusy || (!text.trim() && !file)) return;
    const done = () => {
      const now = field.current?.value ?? '';
      const isSent = !file?.type.startsWith('audio/');
      // What was typed on meanwhile stays.
      if (isSent) setText(now.startsWith(text) ? now.slice(text.length).trimStart() : now);
      setFile(null);
      onDone();
    };
    if (edited)
      act.mutate({ what: 'edit', messageId: edited.message_id, content: text }, { onSuccess: done });
    else send.mutate({ text, file, quotedId }, { onSuccess: done });
  }
  function attach(chosen: File | null): void {
    setFile(chosen);
    changed();
  }
  function onKey(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  }
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {send.error && (
        <ApiError
          error={send.error}
          {...(isPassing(send.error) ? { hint: t('messages.form.sameKey') } : {})}
        />
      )}
      {file && (
        <Group gap="xs" justify="space-between" wrap="nowrap">
          <Text size="sm" className="one-line">
            {file.name}
          </Text>
          <Button size="compact-xs" variant="default" flex="none" onClick={() => attach(null)}>
            {t('chats.detach')}
          </Button>
        </Group>
      )}
      <Group gap="xs" align="end" wrap="nowrap">
        {!edited && <Attach onChoose={attach} />}
        <Textarea
          ref={field}
          flex={1}
          autosize
          minRows={1}
          maxRows={6}
          aria-label={t(edited ? 'chats.change' : 'chats.write')}
          placeholder={t(edited ? 'chats.change' : 'chats.write')}
          value={text}
          onKeyDown={onKey}
          onChange={(event) => {
            setText(event.target.value);
            changed();
          }}
        />
        {edited && (
          <Button variant="default" flex="none" onClick={onDone}>
            {t('common.actions.cancel')}
          </Button>
        )}
        <Button type="submit" flex="none" loading={isBusy}>
          {t(edited ? 'common.actions.save' : 'chats.send')}
        </Button>
      </Group>
    </form>
  );
}

function Attach({ onChoose }: { onChoose: (file: File | null) => void }) {
  const { t } = useTranslation();
  const forget = useRef<() => void>(null);
  return (
    <FileButton
      resetRef={forget}
      inputProps={{ 'aria-label': t('chats.attach') }}
      onChange={(chosen) => {
        onChoose(chosen);
        // Else the same file could not be chosen once more.
        forget.current?.();
      }}
    >
      {(button) => (
        <Button {...button} variant="default" flex="none">
          {t('chats.attach')}
        </Button>
      )}
    </FileButton>
  );
}
