import { Button, Group, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { PosthornError } from '@posthorn/sdk/index.ts';
import { Navigate, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { ChosenInstance } from '../../api/chosen-instance.tsx';
import { MessageTabs } from '../../api/message-tabs.tsx';
import { Shown } from '../../api/shown.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { MoreButton } from '../../components/more-button.tsx';
import { Page } from '../../components/page.tsx';
import { ProductCard } from './product-card.tsx';
import { useCatalog } from './use-catalog.ts';

/** The products of a business, at first of the instance's own one. */
export function CatalogPage() {
  const { t } = useTranslation();
  const { instance, of } = useSearch({ from: '/signed-in/shell/messages/catalog' });
  if (!useMayManage()) return <Navigate to="/messages" replace />;
  return (
    <Page title={t('catalog.title')}>
      <ChosenInstance instance={instance} to="/messages/catalog">
        {instance && (
          <MessageTabs instance={instance} view="catalog">
            <Products key={`${instance} ${of}`} instanceId={instance} business={of} />
          </MessageTabs>
        )}
      </ChosenInstance>
    </Page>
  );
}

function Products({ instanceId, business }: { instanceId: string; business: string | undefined }) {
  const { t } = useTranslation();
  const list = useCatalog(instanceId, business);
  if (list.error instanceof PosthornError && list.error.status === 501)
    return <EmptyState text={t('catalog.lacks')} />;
  return (
    <Stack>
      <Whose instanceId={instanceId} business={business} />
      <Shown query={list}>
        {(products) =>
          products.length === 0 ? (
            <EmptyState text={t('catalog.empty')} />
          ) : (
            <>
              <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
                {products.map((product) => (
                  <ProductCard key={product.id} instanceId={instanceId} product={product} />
                ))}
              </SimpleGrid>
              <MoreButton list={list} />
            </>
          )
        }
      </Shown>
    </Stack>
  );
}

function Whose({ instanceId, business }: { instanceId: string; business: string | undefined }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [text, setText] = useState(business ?? '');
  const find = (event: FormEvent) => {
    event.preventDefault();
    const of = text.trim() || undefined;
    void navigate({ to: '/messages/catalog', search: { instance: instanceId, of } });
  };
  return (
    <form onSubmit={find}>
      <Group align="end">
        <TextInput
          label={t('catalog.whose')}
          placeholder={t('catalog.own')}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit" variant="default">
          {t('catalog.show')}
        </Button>
      </Group>
    </form>
  );
}
