import { CACHE_CONTROL, PERMISSIONS_POLICY } from '../headers.ts';

/** The headers of the web page's document, on every status. */
export function pageHeaders(contentOrigins: readonly string[]): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    // Asked after each time, and still kept by browsers for going back, which `no-store` would forbid.
    'cache-control': CACHE_CONTROL,
    vary: 'Accept, Accept-Encoding',
    'content-security-policy': contentSecurityPolicy(contentOrigins),
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': PERMISSIONS_POLICY,
    'referrer-policy': 'same-origin',
  };
}

/**
 * What the page may load: its own scripts and styles, and the contents of files, which a redirect may take to the
 * store's hosts. No text becomes a script, wherever it ends up (`require-trusted-types-for`).
 */
function contentSecurityPolicy(contentOrigins: readonly string[]): string {
  const contents = ["'self'", ...contentOrigins.filter(isSource)].join(' ');
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${contents} blob:`,
    `media-src ${contents} blob:`,
    `connect-src ${contents}`,
    `frame-src ${contents}`,
    "font-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

/**
 * Whether a policy can name this origin (CSP Level 3, section 2.3.1). Addresses of IPv6 it can't, and a `;` or a `,`,
 * which hosts in URLs may have, would begin another directive or policy.
 */
export function isSource(origin: string): boolean {
  return /^https?:\/\/[\w.-]+(:\d+)?$/.test(origin);
}
