import type { WebPage } from './web-page.ts';

/** The path of the manifest, relative to the root of the service. */
export const MANIFEST_PATH = '-/manifest.webmanifest';

/** The path that other apps share files to, relative to the root of the service. */
export const SHARE_PATH = '-/share';

/** The colours of `--canvas` in `web/src/ui/styles/tokens.css`, before the page sets the colour of the chosen theme. */
export const THEME_COLORS = { light: '#fbfcfe', dark: '#0e1217' } as const;

/**
 * Returns the manifest of the installed web UI (Web Application Manifest). Its URLs are relative to its own, so that they hold
 * below any path. It has no `id`, which would be relative to the origin: the default is `start_url`.
 */
export function renderAppManifest({ appIcons }: WebPage): string {
  const icon = (name: keyof typeof appIcons, purpose: string, pixels: number) => ({
    src: `assets/${appIcons[name]}`,
    sizes: `${pixels}x${pixels}`,
    type: 'image/png',
    purpose,
  });
  return JSON.stringify({
    name: 'Holdall',
    short_name: 'Holdall',
    description: 'Browse, upload and share your files.',
    lang: 'en',
    start_url: '../',
    scope: '../',
    display: 'standalone',
    theme_color: THEME_COLORS.light,
    background_color: THEME_COLORS.light,
    categories: ['productivity', 'utilities'],
    icons: [
      icon('icon-192', 'any', 192),
      icon('icon-512', 'any', 512),
      icon('maskable-512', 'maskable', 512),
      icon('monochrome-192', 'monochrome', 192),
    ],
    share_target: {
      action: 'share',
      method: 'POST',
      enctype: 'multipart/form-data',
      params: { title: 'title', text: 'text', url: 'url', files: [{ name: 'files', accept: ['*/*'] }] },
    },
  });
}
