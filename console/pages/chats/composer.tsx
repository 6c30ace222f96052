import { Button, Group, Textarea } from '@mantine/core';
import type { Message } from '@posthorn/sdk/index.ts';
import { type KeyboardEvent, type RefObject, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { useDraft } from '../../api/use-draft.ts';
import { isPassing } from '../../session/connection.ts';
import { AttachButton, AttachedFile } from './attach.tsx';
import { useComposer, type useMessageAct } from './use-composer.ts';

const MENU_CLOSED_MS = 200;

interface ComposerProps {
  instanceId: string;
  chatId: string;
  quotedId: string | undefined;
  edited: Message | null;
  act: ReturnType<typeof useMessageAct>;
  /** Called with the id of the message that was answered, changed, or left as it is. */
  onDone: (messageId: string | undefined) => void;
}

/** The field to write or edit a message. Enter sends; Shift+Enter breaks the line. */
export function Composer(props: ComposerProps) {
  const { t } = useTranslation();
  const { edited, act, onDone, quotedId } = props;
  const label = t(edited ? 'chats.change' : 'chats.write');
  const form = `chat ${props.instanceId} ${props.chatId} ${edited?.message_id ?? 'new'}`;
  const draft = { staysOpen: !edited };
  const [text, setText] = useDraft(`${form} text`, edited ? wordsOf(edited) : '', draft);
  const [file, setFile] = useDraft<File | null>(`${form} file`, null, draft);
  const { send, isSending, changed } = useComposer(props.instanceId, props.chatId, (sent) => {
    if (!sent.file?.type.startsWith('audio/')) setText((now) => leftOf(now, sent.text));
    setFile((now) => (now === sent.file ? null : now));
    onDone(sent.quotedId);
  });
  useQuoteChange(quotedId, changed);
  const isBusy = isSending || act.isPending;
  const hint = isPassing(send.error) ? t('messages.form.sameKey') : undefined;
  const field = useFieldFor(edited?.message_id ?? quotedId);

  function submit(): void {
    if (isBusy || (!text.trim() && !file)) return;
    const messageId = edited?.message_id;
    if (messageId)
      act.mutate({ what: 'edit', messageId, content: text }, { onSuccess: () => onDone(messageId) });
    else send.mutate({ text, file, quotedId });
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
      {send.error && <ApiError error={send.error} hint={hint} />}
      {file && <AttachedFile name={file.name} onDetach={() => attach(null)} />}
      <Group gap="xs" align="end" wrap="nowrap">
        {!edited && <AttachButton onChoose={attach} />}
        <Textarea
          ref={field}
          flex={1}
          autosize
          minRows={1}
          maxRows={6}
          aria-label={label}
          placeholder={label}
          value={text}
          onKeyDown={onKey}
          onChange={(event) => {
            setText(event.target.value);
            changed();
          }}
        />
        {edited && (
          <Button variant="default" flex="none" onClick={() => onDone(edited.message_id)}>
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

/** A ref for the text field, which gets the focus when the user answers or edits a message. */
function useFieldFor(messageId: string | undefined): RefObject<HTMLTextAreaElement | null> {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!messageId) return;
    // The message's menu returns the focus when it closes.
    const timer = setTimeout(() => field.current?.focus(), MENU_CLOSED_MS);
    return () => clearTimeout(timer);
  }, [messageId]);
  return field;
}

/** Calls `changed` when the user answers another message, or none: the quote is part of what the idempotency key stands for. */
function useQuoteChange(quotedId: string | undefined, changed: () => void): void {
  const known = useRef(quotedId);
  useEffect(() => {
    if (known.current === quotedId) return;
    known.current = quotedId;
    changed();
  }, [quotedId, changed]);
}

/** The part of a message that an edit replaces: its text, or the caption of its file. */
function wordsOf({ content }: Message): string {
  return String(content.text ?? content.caption ?? '');
}

/** The words that the user typed while a text was being sent. */
function leftOf(typed: string, sent: string): string {
  return typed.startsWith(sent) ? typed.slice(sent.length).trimStart() : typed;
}
