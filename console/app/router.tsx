import { createRootRoute, createRoute, createRouter, Outlet } from '@tanstack/react-router';
import { LoadingRows, SHOWN_AFTER_MS } from '../components/loaded.tsx';
import { textsOf } from '../components/search-text.ts';
import { readFilters } from '../pages/messages/filters.ts';
import { NotFound } from '../pages/not-found/not-found.tsx';
import { ForgotPasswordPage } from '../pages/reset-password/forgot-password-page.tsx';
import { InvitePage } from '../pages/reset-password/invite-page.tsx';
import { ResetPasswordPage } from '../pages/reset-password/reset-password-page.tsx';
import { SignInPage } from '../pages/sign-in/sign-in-page.tsx';
import { SignUpPage } from '../pages/sign-up/sign-up-page.tsx';
import { Crashed } from './crashed.tsx';
import { lazyPage } from './lazy-page.ts';

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const token = textsOf('token');

const strangers = [
  createRoute({
    getParentRoute: () => root,
    path: '/login',
    component: SignInPage,
    validateSearch: textsOf('next', 'oauth_error', 'done'),
  }),
  createRoute({ getParentRoute: () => root, path: '/sign-up', component: SignUpPage }),
  createRoute({ getParentRoute: () => root, path: '/forgot-password', component: ForgotPasswordPage }),
  createRoute({
    getParentRoute: () => root,
    path: '/reset-password',
    component: ResetPasswordPage,
    validateSearch: token,
  }),
  createRoute({ getParentRoute: () => root, path: '/invite', component: InvitePage, validateSearch: token }),
  createRoute({
    getParentRoute: () => root,
    path: '/oauth/callback',
    component: lazyPage(() => import('../pages/oauth/callback-page.tsx'), 'CallbackPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/oauth/complete',
    component: lazyPage(() => import('../pages/oauth/complete-page.tsx'), 'CompletePage'),
    validateSearch: token,
  }),
] as const;

const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: lazyPage(() => import('./signed-in.tsx'), 'SignedIn'),
});

const verify = createRoute({
  getParentRoute: () => signedIn,
  path: '/verify',
  component: lazyPage(() => import('../pages/verify-email/verify-email-page.tsx'), 'VerifyEmailPage'),
});

const shell = createRoute({
  getParentRoute: () => signedIn,
  id: 'shell',
  component: lazyPage(() => import('./shell.tsx'), 'Shell'),
  notFoundComponent: NotFound,
});

const pages = [
  createRoute({
    getParentRoute: () => shell,
    path: '/',
    component: lazyPage(() => import('../pages/home/home-page.tsx'), 'HomePage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/instances',
    component: lazyPage(() => import('../pages/instances/instances-page.tsx'), 'InstancesPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/instances/new',
    component: lazyPage(() => import('../pages/instances/new-instance-page.tsx'), 'NewInstancePage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/instances/$instanceId',
    component: lazyPage(() => import('../pages/instance/instance-page.tsx'), 'InstancePage'),
    validateSearch: textsOf('tab'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/chats',
    component: lazyPage(() => import('../pages/chats/chats-page.tsx'), 'ChatsPage'),
    validateSearch: textsOf('instance', 'chat', 'show'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/settings',
    component: lazyPage(() => import('../pages/settings/settings-page.tsx'), 'SettingsPage'),
    validateSearch: textsOf('tab'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/billing',
    component: lazyPage(() => import('../pages/billing/billing-page.tsx'), 'BillingPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/admin',
    component: lazyPage(() => import('../pages/admin/admin-page.tsx'), 'AdminPage'),
    validateSearch: textsOf('tab'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/events',
    component: lazyPage(() => import('../pages/events/events-page.tsx'), 'EventsPage'),
    validateSearch: textsOf('instance', 'types', 'event'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/messages',
    component: lazyPage(() => import('../pages/messages/messages-page.tsx'), 'MessagesPage'),
    validateSearch: readFilters,
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/messages/new',
    component: lazyPage(() => import('../pages/send/send-page.tsx'), 'SendPage'),
    validateSearch: textsOf('instance', 'kind', 'media', 'to'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/messages/status',
    component: lazyPage(() => import('../pages/status/status-page.tsx'), 'StatusPage'),
    validateSearch: textsOf('instance'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/messages/status/new',
    component: lazyPage(() => import('../pages/status/post-status-page.tsx'), 'PostStatusPage'),
    validateSearch: textsOf('instance'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/messages/media',
    component: lazyPage(() => import('../pages/media/media-page.tsx'), 'MediaPage'),
    validateSearch: textsOf('instance'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/messages/catalog',
    component: lazyPage(() => import('../pages/catalog/catalog-page.tsx'), 'CatalogPage'),
    validateSearch: textsOf('instance', 'of'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/messages/templates',
    component: lazyPage(() => import('../pages/templates/templates-page.tsx'), 'TemplatesPage'),
    validateSearch: textsOf('instance'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/instances/$instanceId/messages/$messageId',
    component: lazyPage(() => import('../pages/message/message-page.tsx'), 'MessagePage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/playground',
    component: lazyPage(() => import('../pages/playground/playground-page.tsx'), 'PlaygroundPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/webhooks',
    component: lazyPage(() => import('../pages/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/webhooks/new',
    component: lazyPage(() => import('../pages/webhooks/new-webhook-page.tsx'), 'NewWebhookPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/webhooks/$webhookId',
    component: lazyPage(() => import('../pages/webhook/webhook-page.tsx'), 'WebhookPage'),
    validateSearch: textsOf('event'),
  }),
] as const;

const tree = root.addChildren([...strangers, signedIn.addChildren([verify, shell.addChildren([...pages])])]);

/**
 * The pages and their addresses. Pages without sign-in are in the first load; each other page is loaded when it is
 * first needed.
 */
export function createConsoleRouter(basepath: string) {
  return createRouter({
    routeTree: tree,
    basepath,
    defaultPreload: 'intent',
    // A page fetches its data through its own queries, which have a cache.
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    defaultPendingComponent: LoadingRows,
    defaultPendingMs: SHOWN_AFTER_MS,
    defaultNotFoundComponent: NotFound,
    defaultErrorComponent: Crashed,
  });
}

export type ConsoleRouter = ReturnType<typeof createConsoleRouter>;

declare module '@tanstack/react-router' {
  interface Register {
    router: ConsoleRouter;
  }
}
