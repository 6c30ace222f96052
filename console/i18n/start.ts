import i18next, { type i18n } from 'i18next';
import { initReactI18next } from 'react-i18next';
import * as en from './en/index.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    resources: { translation: typeof en };
  }
}

export const LANGUAGES = { en: 'English', pt: 'Português' } as const;
export type Language = keyof typeof LANGUAGES;

const KEPT_AS = 'posthorn-language';

/** The language that the person chose here, else that of the browser. */
export async function startTranslations(): Promise<i18n> {
  const i18n = i18next.createInstance();
  await i18n.use(initReactI18next).init({
    lng: 'en',
    fallbackLng: 'en',
    resources: { en: { translation: { ...en } } },
    // React escapes what it draws.
    interpolation: { escapeValue: false },
  });
  await chooseLanguage(i18n, preferredLanguage());
  return i18n;
}

/** Only English comes with the first page. */
export async function chooseLanguage(i18n: i18n, language: Language): Promise<void> {
  if (language === 'pt' && !i18n.hasResourceBundle('pt', 'translation')) {
    const { translations } = await import('./pt/whole.ts');
    i18n.addResourceBundle('pt', 'translation', translations);
  }
  await i18n.changeLanguage(language);
  localStorage.setItem(KEPT_AS, language);
  document.documentElement.lang = language;
}

function preferredLanguage(): Language {
  const kept = localStorage.getItem(KEPT_AS);
  if (kept === 'en' || kept === 'pt') return kept;
  return navigator.language.startsWith('pt') ? 'pt' : 'en';
}
