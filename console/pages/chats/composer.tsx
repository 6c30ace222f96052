import { Button, FileButton, Group, Textarea } from '@mantine/core';
import type { Message } from '@posthorn/sdk/index.ts';
import { type KeyboardEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { textOfMessage } from '../../api/message-status.tsx';
import { useDraft } from '../../api/use-draft.ts';
import { useComposer, type useMessageAct } from './use-composer.ts';

const SHOWN_NAME_CHARS = 12;

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

  function submit(): void {
    if (isBusy || (!text.trim() && !file)) return;
    const done = () => {
      setText('');
      setFile(null);
      onDone();
    };
    if (edited)
      act.mutate({ what: 'edit', messageId: edited.message_id, content: text }, { onSuccess: done });
    else send.mutate({ text, file, quotedId }, { onSuccess: done });
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
      {send.error && <ApiError error={send.error} hint={t('messages.form.sameKey')} />}
      <Group gap="xs" align="end" wrap="nowrap">
        {!edited && (
          <Attach
            file={file}
            onChoose={(chosen) => {
              setFile(chosen);
              changed();
            }}
          />
        )}
        <Textarea
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

function Attach({ file, onChoose }: { file: File | null; onChoose: (file: File | null) => void }) {
  const { t } = useTranslation();
  return (
    <FileButton onChange={onChoose} inputProps={{ 'aria-label': t('chats.attach') }}>
      {(button) => (
        <Button {...button} variant="default" flex="none">
          {file ? file.name.slice(0, SHOWN_NAME_CHARS) : t('chats.attach')}
        </Button>
      )}
    </FileButton>
  );
}
