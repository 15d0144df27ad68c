import { CACHE_CONTROL, PERMISSIONS_POLICY } from '../headers.ts';

/** Returns the headers of the web UI's document, for every status. */
export function pageHeaders(contentOrigins: readonly string[]): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    // Browsers revalidate each time, and still restore the page on back navigation, which `no-store` would prevent.
    'cache-control': CACHE_CONTROL,
    vary: 'Accept, Accept-Encoding',
    'content-security-policy': contentSecurityPolicy(contentOrigins),
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': PERMISSIONS_POLICY,
    'referrer-policy': 'same-origin',
  };
}

/**
 * Allows the page to load its own scripts and styles, and file contents, which a redirect may lead to the store's
 * hosts. No string can become a script (`require-trusted-types-for`).
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
 * Returns whether a policy can name this origin (CSP Level 3, section 2.3.1). It can't name IPv6 addresses. URL hosts
 * can contain a `;` or a `,`, which would begin another directive or policy.
 */
export function isSource(origin: string): boolean {
  return /^https?:\/\/[\w.-]+(:\d+)?$/.test(origin);
}
