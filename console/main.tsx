import '@mantine/core/styles.css';
import './app/console.css';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { keepFocus } from './app/keep-focus.ts';
import { CODE_IS_LATE } from './app/lazy-page.ts';
import { returnToLinks } from './app/return-to-link.ts';
import { createConsoleRouter } from './app/router.tsx';
import { styleNonce } from './app/style-nonce.ts';
import { startTranslations } from './i18n/start.ts';
import { createAuth } from './session/auth.ts';

// The library that locks scrolling behind a dialog writes its own style and reads the nonce from here.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });
// The page's base is `<address of the service>/console/`, whatever proxy is in front of it.
const base = new URL('./', document.baseURI);
const billing = document.querySelector<HTMLMetaElement>('meta[name="posthorn-billing"]')?.content ?? '';
const auth = createAuth(new URL('../', base).href.replace(/\/$/, ''), billing);
// The code of a page comes through an import, which hides the answer's status.
addEventListener(CODE_IS_LATE, auth.connection.look);
const router = createConsoleRouter(base.pathname.replace(/\/$/, ''));
const i18n = await startTranslations();
const element = document.querySelector('#console');
if (!element) throw new Error('the page has no place for the console');
keepFocus();
returnToLinks();
createRoot(element).render(<App auth={auth} router={router} i18n={i18n} />);
