import { Stack, Text } from '@mantine/core';
import { type MessageTemplate, PosthornError } from '@posthorn/sdk/index.ts';
import { Navigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { ApiError } from '../../api/api-error.tsx';
import { ChosenInstance } from '../../api/chosen-instance.tsx';
import { MessageTabs } from '../../api/message-tabs.tsx';
import { Shown } from '../../api/shown.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { Cell } from '../../components/row-table.tsx';
import { StateBadge, type Tone } from '../../components/state-badge.tsx';
import { WindowRows } from '../../components/window-rows.tsx';
import { TemplateForm } from './template-form.tsx';
import { useTemplates } from './use-templates.ts';

/** The states of Meta's review that we know; an unknown one is shown under Meta's name. */
const TONES: Readonly<Record<string, Tone>> = {
  APPROVED: 'good',
  PENDING: 'busy',
  IN_APPEAL: 'busy',
  PAUSED: 'warn',
  LIMIT_EXCEEDED: 'warn',
  REJECTED: 'bad',
  DISABLED: 'bad',
  PENDING_DELETION: 'idle',
};

/** The templates that Meta reviews, of an official number. */
export function TemplatesPage() {
  const { t } = useTranslation();
  const { instance } = useSearch({ from: '/signed-in/shell/messages/templates' });
  if (!useMayManage()) return <Navigate to="/messages" replace />;
  return (
    <Page title={t('templates.title')}>
      <ChosenInstance instance={instance} to="/messages/templates">
        {instance && (
          <MessageTabs instance={instance} view="templates">
            <Templates key={instance} instanceId={instance} />
          </MessageTabs>
        )}
      </ChosenInstance>
    </Page>
  );
}

function Templates({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const { list, create, remove } = useTemplates(instanceId);
  if (list.error instanceof PosthornError && list.error.status === 501)
    return <EmptyState text={t('templates.lacks')} />;
  return (
    <Stack>
      {remove.error && <ApiError error={remove.error} />}
      <Shown query={list}>
        {(templates) =>
          templates.length === 0 ? (
            <EmptyState text={t('templates.empty')} />
          ) : (
            <WindowRows
              head={[
                t('common.fields.name'),
                t('common.fields.state'),
                t('templates.category'),
                t('templates.text'),
                '',
              ]}
              rows={templates}
              keyOf={({ id }) => id}
              list={list}
            >
              {(template) => (
                <TemplateCells
                  template={template}
                  isBusy={remove.isPending && remove.variables.name === template.name}
                  onRemove={() => remove.mutate(template)}
                />
              )}
            </WindowRows>
          )
        }
      </Shown>
      <TemplateForm create={create} />
    </Stack>
  );
}

function TemplateCells(props: { template: MessageTemplate; isBusy: boolean; onRemove: () => void }) {
  const { t } = useTranslation();
  const { name, language, status, category, rejected_reason: reason, components } = props.template;
  const body = components.find(({ type }) => type === 'BODY')?.text;
  return (
    <>
      <Cell className="foreign">
        {name}
        <Text size="xs" c="dimmed">
          {language}
        </Text>
      </Cell>
      <Cell>
        <StateBadge
          tone={TONES[status] ?? 'idle'}
          label={t(`templates.states.${status as 'APPROVED'}`, { defaultValue: status })}
        />
        {reason && reason !== 'NONE' && (
          <Text size="xs" className="code-word">
            {reason}
          </Text>
        )}
      </Cell>
      <Cell>{t(`templates.categories.${category as 'UTILITY'}`, { defaultValue: category })}</Cell>
      <Cell className="foreign">{typeof body === 'string' ? body : ''}</Cell>
      <Cell>
        <ConfirmButton
          isInRow
          label={t('templates.remove')}
          thing={`${name}, ${language}`}
          text={t('templates.removeText', { name, of: language })}
          busy={props.isBusy}
          onConfirm={props.onRemove}
        />
      </Cell>
    </>
  );
}
