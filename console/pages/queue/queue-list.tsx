import { Stack } from '@mantine/core';
import type { QueueTask } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { partyOf } from '../../api/person-of.ts';
import { Shown } from '../../api/shown.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { durationText } from '../../components/duration-text.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { TextLink } from '../../components/links.tsx';
import { Cell } from '../../components/row-table.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useSecondsUntil } from '../../components/use-seconds-until.ts';
import { WindowRows } from '../../components/window-rows.tsx';
import { useQueue } from './use-queue.ts';

/** Lists the accepted sends that wait, the next one first. */
export function QueueList({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const { queue, cancel } = useQueue(instanceId);
  return (
    <Stack>
      {cancel.error && <ApiError error={cancel.error} />}
      <Shown query={queue}>
        {(tasks) =>
          tasks.length === 0 ? (
            <EmptyState text={t('queue.empty')} />
          ) : (
            <>
              <div>
                <ConfirmButton
                  label={t('queue.clear')}
                  text={t('queue.clearText')}
                  busy={cancel.isPending}
                  onConfirm={() => cancel.mutate(null)}
                />
              </div>
              <WindowRows
                head={[
                  t('messages.type'),
                  t('messages.chat'),
                  t('common.fields.state'),
                  t('messages.when'),
                  '',
                ]}
                rows={tasks}
                keyOf={({ task_id: id }) => id}
              >
                {(task) => (
                  <TaskCells
                    task={task}
                    instanceId={instanceId}
                    busy={cancel.isPending && cancel.variables === task.task_id}
                    onCancel={() => cancel.mutate(task.task_id)}
                  />
                )}
              </WindowRows>
            </>
          )
        }
      </Shown>
    </Stack>
  );
}

function TaskCells(props: { task: QueueTask; instanceId: string; busy: boolean; onCancel: () => void }) {
  const { t } = useTranslation();
  const { task, instanceId } = props;
  const party = partyOf(t, task.chat_jid);
  const thing = `${task.operation}, ${party}`;
  return (
    <>
      <Cell>
        <TextLink
          to="/instances/$instanceId/messages/$messageId"
          params={{ instanceId, messageId: task.message_id }}
          className="one-line"
        >
          {task.operation}
        </TextLink>
      </Cell>
      <Cell className="foreign">{party}</Cell>
      <Cell>{task.typing_until ? <Typing until={task.typing_until} /> : t('queue.waiting')}</Cell>
      <Cell>
        <TimeText at={task.created_at} />
      </Cell>
      <Cell>
        <ConfirmButton
          isInRow
          label={t('common.actions.cancel')}
          thing={thing}
          text={t('queue.cancelText', { thing })}
          busy={props.busy}
          onConfirm={props.onCancel}
        />
      </Cell>
    </>
  );
}

function Typing({ until }: { until: string }) {
  const { t, i18n } = useTranslation();
  return t('queue.typing', { time: durationText(useSecondsUntil(until), i18n.language) });
}
