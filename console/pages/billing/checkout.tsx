import { NativeSelect, Radio, SegmentedControl, Stack } from '@mantine/core';
import type { Card as CardRecord } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FormCard } from '../../api/form-card.tsx';
import { moneyText } from '../../components/money-text.ts';
import { cardName } from './card-name.ts';
import { BILLING_TYPES, type BillingChanges, type BillingType, type CatalogOfPlans } from './use-billing.ts';

/** Chooses a plan and a means of payment. */
export function Checkout(props: {
  offered: CatalogOfPlans;
  cards: readonly CardRecord[];
  changes: BillingChanges;
}) {
  const { t, i18n } = useTranslation();
  const { cards, offered } = props;
  const { subscribe } = props.changes;
  const [cycle, setCycle] = useState<'monthly' | 'yearly'>('monthly');
  const [code, setCode] = useState('');
  const [way, setWay] = useState<BillingType>('pix');
  const [cardId, setCardId] = useState('');
  const plans = offered.plans.filter((plan) => plan.cycle === cycle);
  const chosen = plans.find((plan) => plan.code === code) ?? plans[0];
  const card = cardId || String(cards.find(({ is_default: isDefault }) => isDefault)?.id ?? '');
  return (
    <FormCard
      title={t('billing.checkout.title')}
      text={t('billing.checkout.text')}
      label={t('billing.checkout.submit')}
      mutation={subscribe}
      onSubmit={() =>
        chosen &&
        subscribe.mutate({
          plan_code: chosen.code,
          billing_type: way,
          ...(way === 'credit_card' && card ? { card_id: Number(card) } : {}),
        })
      }
    >
      <SegmentedControl
        aria-label={t('billing.checkout.cycle')}
        maw={320}
        value={cycle}
        data={(['monthly', 'yearly'] as const).map((value) => ({
          value,
          label: t(`billing.cycles.${value}`),
        }))}
        onChange={(value) => setCycle(value)}
      />
      <Radio.Group label={t('billing.checkout.plan')} value={chosen?.code ?? ''} onChange={setCode}>
        <Stack gap="xs" mt="xs">
          {plans.map((plan) => (
            <Radio
              key={plan.code}
              value={plan.code}
              label={`${plan.display_name}, ${moneyText(plan.price_cents, plan.currency, i18n.language)}`}
              description={plan.display_subtitle}
            />
          ))}
        </Stack>
      </Radio.Group>
      <Radio.Group
        label={t('billing.checkout.way')}
        value={way}
        onChange={(value) => setWay(value as BillingType)}
      >
        <Stack gap="xs" mt="xs">
          {BILLING_TYPES.map((type) => (
            <Radio key={type} value={type} label={t(`billing.ways.${type}`)} />
          ))}
        </Stack>
      </Radio.Group>
      {way === 'credit_card' && (
        <NativeSelect
          label={t('billing.cards.card')}
          description={cards.length === 0 ? t('billing.checkout.cardFirst') : undefined}
          required
          maw={420}
          value={card}
          data={cards.map(({ id, brand, last4 }) => ({ value: String(id), label: cardName(brand, last4) }))}
          onChange={(event) => setCardId(event.target.value)}
        />
      )}
    </FormCard>
  );
}
