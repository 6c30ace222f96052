import { Stack } from '@mantine/core';
import { Navigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMayManage, useUser } from '../../api/api-context.ts';
import { Shown } from '../../api/shown.tsx';
import { Page } from '../../components/page.tsx';
import { Cards } from './cards.tsx';
import { Charges } from './charges.tsx';
import { Checkout } from './checkout.tsx';
import { CurrentPlan } from './current-plan.tsx';
import { ProfileForm } from './profile-form.tsx';
import { useBillingChanges, usePayer, usePlans, useSubscription } from './use-billing.ts';

/** States in which a company may subscribe anew. */
const OVER: readonly string[] = ['cancelled', 'expired'];

/** The plan and what it costs. Admins see it, the owner changes it. */
export function BillingPage() {
  return useMayManage() ? <Billing /> : <Navigate to="/messages" replace />;
}

function Billing() {
  const { t } = useTranslation();
  const { role, is_superadmin: isRoot } = useUser();
  const mayPay = role === 'owner' || isRoot;
  const catalog = usePlans();
  const payer = usePayer();
  const subscription = useSubscription({ isWatched: true });
  const changes = useBillingChanges();
  return (
    <Page title={t('billing.title')}>
      <Shown query={subscription}>
        {(current) => (
          <Shown query={catalog}>
            {(offered) => (
              <Shown query={payer}>
                {({ profile, cards, charges }) => {
                  const mayBegin = mayPay && (!current || OVER.includes(current.status));
                  const hasOpenCharge = charges.some(({ status }) => status === 'pending');
                  return (
                    <Stack>
                      {current && (
                        <CurrentPlan
                          subscription={current}
                          awaitsPayment={current.status === 'expired' && hasOpenCharge}
                          offered={offered}
                          mayPay={mayPay}
                          changes={changes}
                        />
                      )}
                      {mayBegin && !profile && <ProfileForm changes={changes} />}
                      {mayBegin && profile && <Checkout offered={offered} cards={cards} changes={changes} />}
                      <Charges charges={charges} />
                      {profile && (
                        <Cards cards={cards} profileId={profile.id} mayPay={mayPay} changes={changes} />
                      )}
                    </Stack>
                  );
                }}
              </Shown>
            )}
          </Shown>
        )}
      </Shown>
    </Page>
  );
}
