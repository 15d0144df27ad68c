/** The assets of the offline page, by their names in the folder of assets. */
export interface OfflinePage {
  /** Changes with the assets. */
  readonly version: string;
  readonly early: string | undefined;
  readonly icon: string | undefined;
  readonly imports: readonly string[];
  readonly script: string;
  readonly styles: readonly string[];
}

const ASSETS = '-/assets/';

/** Returns the paths of all assets of the offline page, relative to the root of the service. */
export function assetsOf({ early, icon, imports, script, styles }: OfflinePage): readonly string[] {
  return [early, icon, script, ...imports, ...styles].filter((name) => name !== undefined).map((name) => ASSETS + name);
}

/** Returns the offline page. Its URLs are absolute, because the browser shows it at the URL of any folder. */
export function offlineDocument({ early, icon, script, styles }: OfflinePage, root: string): Response {
  const url = (name: string) => new URL(ASSETS + name, root).pathname;
  const html = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">',
    '<meta name="color-scheme" content="light dark"><title>Holdall</title>',
    icon === undefined ? '' : `<link rel="icon" type="image/svg+xml" href="${url(icon)}">`,
    early === undefined ? '' : `<script src="${url(early)}"></script>`,
    ...styles.map((style) => `<link rel="stylesheet" href="${url(style)}">`),
    `<script type="module" src="${url(script)}"></script>`,
    '</head><body><div id="page"></div></body></html>',
  ];
  return new Response(html.join(''), {
    status: 503,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'cache-control': 'no-store',
    },
  });
}

/** The page loads its own assets, and asks the service whether it responds again. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
