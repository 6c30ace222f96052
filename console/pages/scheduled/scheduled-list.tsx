import { Stack } from '@mantine/core';
import type { ScheduledSend } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { textOfMessage } from '../../api/message-status.tsx';
import { Shown } from '../../api/shown.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { TextLink } from '../../components/links.tsx';
import { shortText } from '../../components/row-button.tsx';
import { Cell } from '../../components/row-table.tsx';
import { StateBadge, type Tone } from '../../components/state-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { WindowRows } from '../../components/window-rows.tsx';
import { useScheduled } from './use-scheduled.ts';

const TONES: Readonly<Record<ScheduledSend['status'], Tone>> = {
  scheduled: 'busy',
  claimed: 'busy',
  queued: 'good',
  failed: 'bad',
  cancelled: 'idle',
};

const SHOWN_CHARS = 200;

export function ScheduledList({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const { list, cancel } = useScheduled(instanceId);
  return (
    <Stack>
      {cancel.error && <ApiError error={cancel.error} />}
      <Shown query={list}>
        {(sends) =>
          sends.length === 0 ? (
            <EmptyState text={t('queue.noScheduled')} />
          ) : (
            <WindowRows
              head={[
                t('messages.content'),
                t('messages.form.to'),
                t('messages.status'),
                t('queue.sendAt'),
                '',
              ]}
              rows={sends}
              keyOf={({ id }) => id}
              list={list}
            >
              {(send) => (
                <SendCells
                  send={send}
                  busy={cancel.isPending && cancel.variables === send.id}
                  onCancel={() => cancel.mutate(send.id)}
                />
              )}
            </WindowRows>
          )
        }
      </Shown>
    </Stack>
  );
}

function SendCells({ send, ...props }: { send: ScheduledSend; busy: boolean; onCancel: () => void }) {
  const { t } = useTranslation();
  const { instance_id: instanceId, id, status, failed_reason: reason } = send;
  const text = textOfMessage({ content: send.body }).slice(0, SHOWN_CHARS) || send.type;
  return (
    <>
      <Cell>
        {status === 'queued' ? (
          <TextLink
            to="/instances/$instanceId/messages/$messageId"
            params={{ instanceId, messageId: id }}
            className="one-line"
          >
            {text}
          </TextLink>
        ) : (
          <span className="one-line">{text}</span>
        )}
      </Cell>
      <Cell className="foreign">{String(send.body.to ?? '')}</Cell>
      <Cell>
        <StateBadge
          tone={TONES[status]}
          label={[t(`queue.statuses.${status}`), reason].filter(Boolean).join(': ')}
        />
      </Cell>
      <Cell>
        <TimeText at={send.send_at} shows={status === 'scheduled' ? 'exact' : 'both'} />
      </Cell>
      <Cell>
        {status === 'scheduled' && (
          <ConfirmButton
            isInRow
            label={t('common.actions.cancel')}
            thing={shortText(text)}
            text={t('queue.cancelScheduledText', { thing: shortText(text) })}
            busy={props.busy}
            onConfirm={props.onCancel}
          />
        )}
      </Cell>
    </>
  );
}
