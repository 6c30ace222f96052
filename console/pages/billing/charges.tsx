import { Anchor, Group, Stack, Text } from '@mantine/core';
import type { Charge } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { Card } from '../../components/card.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { moneyText } from '../../components/money-text.ts';
import { Cell, Row, RowTable } from '../../components/row-table.tsx';
import { StateBadge, type Tone } from '../../components/state-badge.tsx';
import { dateText } from '../../components/time-text.tsx';
import { isOpen } from './use-billing.ts';

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

/**
 * The provider's page where a charge can be paid: a slip from the start, any other once it is late, since the service has a
 * PIX code only for a pending one.
 */
function pageToPay({ status, bank_slip_url: slip, invoice_url: invoice }: Charge): string | null {
  const page = slip ?? (status === 'overdue' ? invoice : null);
  return page && /^https?:/.test(page) ? page : null;
}

/** Shows the open charges with what pays them, and the earlier ones. */
export function Charges({ charges }: { charges: readonly Charge[] }) {
  const { t, i18n } = useTranslation();
  const open = charges.filter(
    (charge) => isOpen(charge) && (charge.pix_qr_code !== null || pageToPay(charge) !== null),
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
  const page = pageToPay(charge);
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
        {page && (
          <Anchor href={page} target="_blank" rel="noreferrer" underline="always" size="sm">
            {t(charge.bank_slip_url ? 'billing.charges.slip' : 'billing.charges.invoice')}
          </Anchor>
        )}
      </Stack>
    </Group>
  );
}
