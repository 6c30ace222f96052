import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import type { Subscription } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { SUBSCRIPTION_TONES } from '../../api/subscription-state.ts';
import { Card } from '../../components/card.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { Facts } from '../../components/facts.tsx';
import { moneyText } from '../../components/money-text.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { dayText } from '../../components/time-text.tsx';
import type { BillingChanges, CatalogOfPlans } from './use-billing.ts';

interface CurrentPlanProps {
  subscription: Subscription;
  /** It begins once its open charge is paid. */
  awaitsPayment: boolean;
  offered: CatalogOfPlans;
  mayPay: boolean;
  changes: BillingChanges;
}

/** Shows the subscription, its next charge, and how to change or end it. */
export function CurrentPlan(props: CurrentPlanProps) {
  const { t, i18n } = useTranslation();
  const { subscription, awaitsPayment, mayPay, changes } = props;
  const { status } = subscription;
  const error =
    changes.changePlan.error ?? changes.cancel.error ?? changes.addItem.error ?? changes.removeItem.error;
  return (
    <Card
      title={subscription.plan_display_name}
      action={
        awaitsPayment ? (
          <StateBadge tone="warn" label={t('billing.plan.awaits')} />
        ) : (
          <StateBadge tone={SUBSCRIPTION_TONES[status]} label={t(`billing.states.${status}`)} />
        )
      }
    >
      <Facts
        facts={[
          [t('billing.plan.cycle'), t(`billing.cycles.${subscription.plan_cycle}`)],
          [t('billing.plan.way'), t(`billing.ways.${subscription.billing_type}`)],
          [
            t('billing.plan.trial'),
            status === 'trialing' && dayText(subscription.trial_ends_at, i18n.language),
          ],
          [t('billing.plan.until'), dayText(subscription.current_period_end, i18n.language)],
          [t('billing.plan.next'), subscription.next_plan_display_name],
        ]}
      />
      {awaitsPayment && <Text size="sm">{t('billing.plan.awaitsText')}</Text>}
      {subscription.cancel_at_period_end && <Text size="sm">{t('billing.plan.ending')}</Text>}
      <Items {...props} />
      {error && <ApiError error={error} />}
      {mayPay && mayChange(subscription) && (
        <Group align="end">
          <ChangePlan {...props} />
          {!subscription.cancel_at_period_end && (
            <ConfirmButton
              label={t('billing.plan.cancel')}
              text={t('billing.plan.cancelText')}
              busy={changes.cancel.isPending}
              onConfirm={() => changes.cancel.mutate(subscription.id)}
            />
          )}
        </Group>
      )}
    </Card>
  );
}

/** Whether the service takes another plan, further add-ons or the end; a suspended subscription is paid first. */
function mayChange({ status }: Subscription): boolean {
  return status === 'trialing' || status === 'active' || status === 'past_due';
}

function ChangePlan({ subscription, offered, changes: { changePlan } }: CurrentPlanProps) {
  const { t, i18n } = useTranslation();
  const [code, setCode] = useState('');
  const others = offered.plans.filter((plan) => plan.code !== subscription.plan_code);
  const chosen = code || others[0]?.code;
  if (!chosen) return null;
  return (
    <>
      <NativeSelect
        label={t('billing.plan.other')}
        value={chosen}
        data={others.map(({ code: value, display_name: name, cycle, price_cents: cents, currency }) => ({
          value,
          label: `${name}, ${t(`billing.cycles.${cycle}`)}, ${moneyText(cents, currency, i18n.language)}`,
        }))}
        onChange={(event) => setCode(event.target.value)}
      />
      <Button
        variant="default"
        loading={changePlan.isPending}
        onClick={() => changePlan.mutate({ id: subscription.id, code: chosen })}
      >
        {t('billing.plan.change')}
      </Button>
    </>
  );
}

/** Lists the add-ons of the subscription and those that can be added. */
function Items({ subscription, offered, mayPay, changes }: CurrentPlanProps) {
  const { t, i18n } = useTranslation();
  const { id } = subscription;
  const mine = subscription.items.filter(({ type }) => type === 'addon');
  const mayRemove = mayPay && subscription.status !== 'cancelled' && subscription.status !== 'expired';
  const mayAdd = mayPay && mayChange(subscription) && !subscription.cancel_at_period_end;
  const addable = mayAdd ? offered.addons : [];
  if (mine.length + addable.length === 0) return null;
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        {t('billing.plan.addons')}
      </Text>
      {mine.map((item) => (
        <Group key={item.id} gap="xs">
          <Text size="sm">
            {item.quantity} × {item.display_name}
            {item.scheduled_for_next_cycle && ` (${t('billing.plan.fromNextPayment')})`}
          </Text>
          {mayRemove && (
            <ConfirmButton
              isInRow
              label={t('billing.plan.removeItem')}
              thing={item.display_name}
              text={t('billing.plan.removeItemText', { name: item.display_name })}
              busy={changes.removeItem.isPending && changes.removeItem.variables.itemId === item.id}
              onConfirm={() => changes.removeItem.mutate({ id, itemId: item.id })}
            />
          )}
        </Group>
      ))}
      <Group gap="xs">
        {addable.map(({ code, display_name: name, cycle, price_cents: cents, currency }) => (
          <ConfirmButton
            key={code}
            isInRow
            isSafe
            label={t('billing.plan.addItem', { name, price: moneyText(cents, currency, i18n.language) })}
            text={t(`billing.plan.addItemText.${cycle}`, {
              name,
              price: moneyText(cents, currency, i18n.language),
            })}
            busy={changes.addItem.isPending && changes.addItem.variables.code === code}
            onConfirm={() => changes.addItem.mutate({ id, code })}
          />
        ))}
      </Group>
    </Stack>
  );
}
