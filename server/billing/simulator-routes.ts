import { apiError } from '@posthorn/contract/api-error.ts';
import type { billingSimulator } from '@posthorn/contract/billing/simulator.ts';
import type { BillingDeps } from '@posthorn/core/billing/deps.ts';
import { advanceClock } from '@posthorn/core/billing/provider/simulated/advance-clock.ts';
import { simulateAction } from '@posthorn/core/billing/provider/simulated/simulate-action.ts';
import type { Handlers } from '../http/handler.ts';

/** The controls of the simulated provider, each for the caller's own company. With a real provider: 404. */
export function simulatorRoutes(
  deps: Pick<BillingDeps, 'db' | 'clock' | 'provider'>,
): Handlers<typeof billingSimulator> {
  const onlySimulated = () => {
    if (deps.provider.name !== 'simulated') throw apiError('NOT_FOUND');
  };
  return {
    async act({ principal, body }) {
      onlySimulated();
      const { paymentId, events } = await simulateAction(deps, {
        companyId: principal.companyId,
        action: body.action,
        paymentId: body.payment_id ?? null,
      });
      return { status: 202, body: { action: body.action, payment_id: paymentId, events } };
    },
    async advanceClock({ principal, body }) {
      onlySimulated();
      const { now, offsetSeconds } = await advanceClock(deps, {
        companyId: principal.companyId,
        seconds: body.advance_seconds,
      });
      return { status: 200, body: { now: now.toISOString(), offset_seconds: offsetSeconds } };
    },
  };
}
