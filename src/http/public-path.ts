import type { Service } from './service.ts';

/**
 * Returns the path below which clients reach the service, without a trailing slash: the base path, or the path of the public
 * URL, which a reverse proxy removes. For `Location` headers, which many programs resolve against the URL of their request.
 */
export function publicPathOf({ publicUrl, basePath }: Pick<Service, 'publicUrl' | 'basePath'>): string {
  return publicUrl === undefined ? basePath : new URL(publicUrl).pathname.replace(/\/$/, '');
}
