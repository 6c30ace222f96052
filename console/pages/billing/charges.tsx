import { Anchor, Group, Stack, Text } from '@mantine/core';
import type { Charge } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { Card } from '../../components/card.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { moneyText } from '../../components/money-text.ts';
import { Cell, Row, RowTable } from '../../components/row-table.tsx';
import { StateBadge, type Tone } from '../../components/state-badge.tsx';
import { dateText } from '../../components/time-text.tsx';

const TONES: Readonly<Record<Charge['status'], Tone>> = {
  pending: 'busy',
  confirmed: 'good',
  received: 'good',
  overdue: 'warn',
  failed: 'bad',
  refunded: 'idle',
  chargeback: 'bad',
  deleted: 'idle',
};
const CURRENCY = 'BRL';

/** Shows the open charge with its PIX code or slip, and the earlier ones. */
export function Charges({ charges }: { charges: readonly Charge[] }) {
  const { t, i18n } = useTranslation();
  const open = charges.filter(
    ({ pix_qr_code: qr, bank_slip_url: slip, status }) => (qr || slip) && status === 'pending',
  );
  return (
    <Card title={t('billing.charges.title')}>
      {open.map((charge) => (
        <ToPay key={charge.id} charge={charge} />
      ))}
      {charges.length === 0 ? (
        <Text size="sm">{t('billing.charges.empty')}</Text>
      ) : (
        <RowTable
          head={[
            t('billing.charges.due'),
            t('billing.charges.amount'),
            t('billing.plan.way'),
            t('common.fields.state'),
          ]}
        >
          {charges.map((charge) => (
            <Row key={charge.id} data-charge={charge.status}>
              <Cell>{dateText(charge.due_date, i18n.language)}</Cell>
              <Cell>{moneyText(charge.amount_cents, CURRENCY, i18n.language)}</Cell>
              <Cell>{t(`billing.ways.${charge.billing_type}`)}</Cell>
              <Cell>
                <StateBadge
                  tone={TONES[charge.status]}
                  label={t(`billing.charges.states.${charge.status}`)}
                />
              </Cell>
            </Row>
          ))}
        </RowTable>
      )}
    </Card>
  );
}

function ToPay({ charge }: { charge: Charge }) {
  const { t, i18n } = useTranslation();
  const amount = moneyText(charge.amount_cents, CURRENCY, i18n.language);
  return (
    <Group align="start" gap="md">
      {charge.pix_qr_code && (
        <img
          src={`data:image/png;base64,${charge.pix_qr_code}`}
          alt={t('billing.charges.qr')}
          width={180}
          height={180}
          className="qr"
        />
      )}
      <Stack gap="xs" flex="1 1 16rem" miw={0}>
        <Text size="sm">
          {t('billing.charges.pay', { amount, date: dateText(charge.due_date, i18n.language) })}
        </Text>
        {charge.pix_copy_paste && <CopyText label="PIX" text={charge.pix_copy_paste} />}
        {charge.bank_slip_url && /^https?:/.test(charge.bank_slip_url) && (
          <Anchor href={charge.bank_slip_url} target="_blank" rel="noreferrer" underline="always" size="sm">
            {t('billing.charges.slip')}
          </Anchor>
        )}
      </Stack>
    </Group>
  );
}
