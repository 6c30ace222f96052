import type { AppRouter } from '@ts-rest/core';
import {
  documentMeta,
  documentRoute,
  pageMeta,
  pageRoute,
  scriptMeta,
  scriptRoute,
} from '../openapi-routes.ts';
import { route } from '../route-meta.ts';

export const openapi = {
  document: route(documentMeta, documentRoute),
  page: route(pageMeta, pageRoute),
  script: route(scriptMeta, scriptRoute),
} satisfies AppRouter;
