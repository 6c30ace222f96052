import type { AppRouter } from '@ts-rest/core';
import {
  documentMeta,
  documentRoute,
  pageMeta,
  pageRoute,
  scriptMeta,
  scriptRoute,
} from '../openapi-routes.ts';
import { billingRoute } from './route.ts';

export const openapi = {
  document: billingRoute(documentMeta, documentRoute),
  page: billingRoute(pageMeta, pageRoute),
  script: billingRoute(scriptMeta, scriptRoute),
} satisfies AppRouter;
