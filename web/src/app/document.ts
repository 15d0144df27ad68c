import { effect } from '@preact/signals';
import { nameOf, ROOT } from '../platform/paths.ts';
import { shownName } from '../platform/text/names.ts';
import { NARROW } from '../ui/responsive.ts';
import type { Page } from './create-page.ts';

/** Keeps the document outside of the rendered elements in sync with the models, for the lifetime of the page. */
export function syncDocument({ account, isBusy, language, preferences, router, visit }: Page): void {
  const root = document.documentElement;
  fixLinkUrls();
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', updateThemeColor);
  const narrow = window.matchMedia(NARROW);
  const updateNarrow = () => void root.toggleAttribute('data-narrow', narrow.matches);
  updateNarrow();
  narrow.addEventListener('change', updateNarrow);

  effect(() => {
    const { tag, direction } = language.value;
    root.lang = tag;
    root.dir = direction;
  });
  effect(() => {
    const theme = preferences.theme.value;
    if (theme === 'system') delete root.dataset['theme'];
    else root.dataset['theme'] = theme;
    root.dataset['density'] = preferences.density.value;
    updateThemeColor();
  });
  effect(() => {
    const { folder, preview, view } = router.route.value;
    const { text } = language.value;
    const rootName = visit?.link.value ? text.shell.root : ROOT;
    const name = view ? text.actions[view] : shownName(nameOf(preview ?? folder) || rootName);
    const title = account?.isSignInPage && account.username.value === null ? text.account.signIn : name;
    document.title = title === ROOT ? 'Holdall' : `${title} – Holdall`;
  });
  effect(() => {
    // Only while necessary: with this listener, browsers don't keep the page in the back/forward cache.
    if (!isBusy.value || account?.isReloading.value) return undefined;
    window.addEventListener('beforeunload', confirmLeaving);
    return () => window.removeEventListener('beforeunload', confirmLeaving);
  });
}

/** Makes the URLs of the icons and the manifest absolute. The relative ones depend on the URL of the folder, which changes. */
function fixLinkUrls(): void {
  for (const link of document.querySelectorAll<HTMLLinkElement>('link:is([rel$="icon"], [rel="manifest"])')) {
    link.setAttribute('href', link.href);
  }
}

/** Sets the browser's theme colours, one for each theme of the device, to the page's background. */
function updateThemeColor(): void {
  const { backgroundColor } = getComputedStyle(document.documentElement);
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]'))
    meta.content = backgroundColor;
}

/** Makes the browser ask the user whether to leave the page. */
function confirmLeaving(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
