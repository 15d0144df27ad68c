import { effect } from '@preact/signals';
import { nameOf, ROOT } from '../platform/paths.ts';
import { shownName } from '../platform/text/shown-name.ts';
import { NARROW } from '../ui/media.ts';
import type { Page } from './page.ts';

/** Keeps what lies outside of the page's own elements as it has to be, until the function that it gives is called. */
export function keepDocument(page: Page): () => void {
  const { preferences, language, router, account } = page;
  const root = document.documentElement;
  keepIcon();
  const scheme = window.matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', colourBrowser);
  const narrow = window.matchMedia(NARROW);
  const markNarrow = () => void root.toggleAttribute('data-narrow', narrow.matches);
  markNarrow();
  narrow.addEventListener('change', markNarrow);

  const endings = [
    effect(() => {
      const { tag, direction } = language.value;
      root.lang = tag;
      root.dir = direction;
    }),
    effect(() => {
      const theme = preferences.theme.value;
      if (theme === 'system') delete root.dataset['theme'];
      else root.dataset['theme'] = theme;
      root.dataset['density'] = preferences.density.value;
      colourBrowser();
    }),
    effect(() => {
      const { folder, preview } = router.route.value;
      const name = shownName(nameOf(preview ?? folder));
      const what = account?.isSignInPage && account.username.value === null ? language.value.text.account.signIn : name;
      document.title = what === ROOT ? 'Holdall' : `${what} – Holdall`;
    }),
    () => scheme.removeEventListener('change', colourBrowser),
    () => narrow.removeEventListener('change', markNarrow),
  ];
  return () => {
    for (const end of endings) end();
  };
}

/** Its address is relative to the page's, which changes from folder to folder without the page being loaded anew. */
function keepIcon(): void {
  for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel="icon"]')) {
    link.setAttribute('href', link.href);
  }
}

/** The bars of the browser go on where the page ends. */
function colourBrowser(): void {
  metaOf('theme-color').content = getComputedStyle(document.documentElement).backgroundColor;
}

function metaOf(name: string): HTMLMetaElement {
  const found = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);
  if (found) return found;
  const meta = document.createElement('meta');
  meta.name = name;
  document.head.append(meta);
  return meta;
}
