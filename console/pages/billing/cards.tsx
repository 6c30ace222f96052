import { Group, NumberInput, SimpleGrid, Text, TextInput } from '@mantine/core';
import type { Card as CardRecord } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { MutationForm } from '../../api/mutation-form.tsx';
import { Card } from '../../components/card.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { RowButton } from '../../components/row-button.tsx';
import { cardName } from './card-name.ts';
import type { BillingChanges } from './use-billing.ts';

interface CardsProps {
  cards: readonly CardRecord[];
  profileId: number;
  mayPay: boolean;
  changes: BillingChanges;
}

export function Cards({ cards, profileId, mayPay, changes }: CardsProps) {
  const { t } = useTranslation();
  const { changeCard } = changes;
  return (
    <Card title={t('billing.cards.title')}>
      {changeCard.error && <ApiError error={changeCard.error} />}
      {cards.map(({ id, brand, last4, exp_month: month, exp_year: year, is_default: isDefault }) => (
        <Group key={id} gap="xs">
          <Text size="sm">
            {cardName(brand, last4)}, {String(month).padStart(2, '0')}/{year}
            {isDefault && ` (${t('billing.cards.default')})`}
          </Text>
          {mayPay && !isDefault && (
            <RowButton
              label={t('billing.cards.makeDefault')}
              thing={cardName(brand, last4)}
              onClick={() => changeCard.mutate({ id, what: 'makeDefault' })}
            />
          )}
          {mayPay && (
            <ConfirmButton
              label={t('billing.cards.remove')}
              thing={cardName(brand, last4)}
              text={t('billing.cards.removeText', { card: cardName(brand, last4) })}
              busy={changeCard.isPending}
              isInRow
              onConfirm={() => changeCard.mutate({ id, what: 'remove' })}
            />
          )}
        </Group>
      ))}
      {mayPay && <NewCardForm key={cards.length} profileId={profileId} changes={changes} />}
    </Card>
  );
}

const EMPTY = { number: '', holder_name: '', exp_month: '', exp_year: '', cvv: '' };

function NewCardForm({ profileId, changes: { addCard } }: Pick<CardsProps, 'profileId' | 'changes'>) {
  const { t } = useTranslation();
  const [values, setValues] = useState(EMPTY);
  const set = (name: keyof typeof EMPTY) => (value: string | number) =>
    setValues({ ...values, [name]: String(value) });
  const { exp_month: month, exp_year: year, ...texts } = values;
  return (
    <MutationForm
      label={t('billing.cards.add')}
      mutation={addCard}
      isMinor
      onSubmit={() =>
        addCard.mutate({ profileId, ...texts, exp_month: Number(month), exp_year: Number(year) })
      }
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }} maw={640}>
        <TextInput
          label={t('billing.cards.number')}
          autoComplete="cc-number"
          inputMode="numeric"
          required
          value={values.number}
          onChange={(event) => set('number')(event.target.value)}
        />
        <TextInput
          label={t('billing.cards.holder')}
          autoComplete="cc-name"
          required
          value={values.holder_name}
          onChange={(event) => set('holder_name')(event.target.value)}
        />
        <NumberInput
          label={t('billing.cards.month')}
          autoComplete="cc-exp-month"
          min={1}
          max={12}
          hideControls
          required
          value={month}
          onChange={set('exp_month')}
        />
        <NumberInput
          label={t('billing.cards.year')}
          autoComplete="cc-exp-year"
          hideControls
          required
          value={year}
          onChange={set('exp_year')}
        />
        <TextInput
          label={t('billing.cards.cvv')}
          autoComplete="cc-csc"
          inputMode="numeric"
          required
          value={values.cvv}
          onChange={(event) => set('cvv')(event.target.value)}
        />
      </SimpleGrid>
    </MutationForm>
  );
}
