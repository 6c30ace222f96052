import type { CreateTemplateBody, MessageTemplate } from '@posthorn/sdk/index.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { changeRow, useFeed } from '../../api/use-feed.ts';

const PAGE = 50;

/** The templates of an official number, as Meta reports them now, and the mutations on them. */
export function useTemplates(instanceId: string) {
  const client = useClient();
  const queries = useQueryClient();
  const queryKey = ['templates', instanceId];
  const onSuccess = () => queries.invalidateQueries({ queryKey });
  const list = useFeed<MessageTemplate, string>({
    queryKey,
    idOf: ({ id }) => id,
    read: async (cursor, signal) => {
      const query = { limit: PAGE, cursor };
      const page = await client.templates.list({ instanceId, query }, { ...(signal && { signal }) });
      return { rows: page.templates, next: page.next_page_cursor };
    },
  });
  const create = useMutation({
    mutationFn: (body: CreateTemplateBody) => client.templates.create({ instanceId, body }),
    onSuccess,
  });
  const remove = useMutation({
    mutationFn: ({ name, language }: Pick<MessageTemplate, 'name' | 'language'>) =>
      client.templates.remove({ instanceId, templateName: name, query: { language } }),
    onSuccess: (_, { name, language }) => {
      const isIt = (row: MessageTemplate) => row.name === name && row.language === language;
      changeRow(queries, { queryKey, isIt }, null);
      return onSuccess();
    },
  });
  return { list, create, remove };
}
