import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { integerId, timestamp } from '../fields.ts';
import { CHARGES_LIMIT } from '../limits.ts';
import { billingRoute } from './route.ts';
import { billingType } from './subscriptions.ts';

export const chargeStatus = z.enum([
  'pending',
  'confirmed',
  'received',
  'overdue',
  'failed',
  'refunded',
  'chargeback',
  'deleted',
]);
export type ChargeStatus = z.infer<typeof chargeStatus>;

/** A charge. Slip, PIX code and `paid_at` are filled only where they say so, and null elsewhere. */
export const charge = z
  .object({
    id: integerId,
    asaas_payment_id: z.string().meta({ description: 'The id of the payment at the provider' }),
    billing_type: billingType,
    status: chargeStatus,
    amount_cents: z.int(),
    net_value_cents: z.int().nullable(),
    fee_cents: z.int().nullable(),
    due_date: z.iso.date(),
    paid_at: timestamp.nullable().meta({ description: 'When the payment was received; null before' }),
    invoice_url: z.string().nullable(),
    bank_slip_url: z
      .string()
      .nullable()
      .meta({ description: 'The URL of the bank slip; on boleto charges only' }),
    pix_copy_paste: z
      .string()
      .nullable()
      .meta({ description: 'The PIX code to copy and paste; on pending PIX charges only' }),
    pix_qr_code: z
      .string()
      .nullable()
      .meta({ description: 'The QR code, a PNG in base64; on pending PIX charges only' }),
  })
  .meta({ id: 'Charge' });
export type ChargeDto = z.infer<typeof charge>;

export const charges = {
  list: billingRoute(
    {
      auth: 'any',
      access: 'owner_admin',
      summary: 'List charges',
      description: 'Sorted by due date, newest first.',
    },
    {
      method: 'GET',
      path: '/v1/billing/charges',
      query: z.object({
        status: z.string().max(40).optional().meta({ enum: chargeStatus.options }),
        // Text, since what is no number of 1 to 200 counts as 50 and is never refused.
        limit: z
          .string()
          .optional()
          .meta({ description: `Default ${CHARGES_LIMIT.default}, at most ${CHARGES_LIMIT.max}` }),
      }),
      responses: { 200: z.object({ data: z.array(charge) }).meta({ id: 'ChargeList' }) },
    },
  ),
} satisfies AppRouter;
