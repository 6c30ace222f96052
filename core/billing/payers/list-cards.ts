import type { CardDto } from '@posthorn/contract/billing/cards.ts';
import type { BillingDeps } from '../deps.ts';
import { CardSchema } from '../entities.ts';
import { cardView } from '../views.ts';

/** The cards that were not removed, oldest first. */
export async function listCards(
  deps: Pick<BillingDeps, 'orm'>,
  input: { companyId: number },
): Promise<CardDto[]> {
  const cards = await deps.orm
    .forCompany(input.companyId)
    .find(CardSchema, { removedAt: null }, { orderBy: { id: 'asc' } });
  return cards.map(cardView);
}
