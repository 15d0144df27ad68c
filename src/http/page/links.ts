import { relativeTo } from '../headers.ts';

/*
 * URLs for the web page. All are relative, so that they hold too where a proxy serves the service below a path of its
 * own.
 */

/** The first segments of routes that hide the folders of the same name, and those below it. */
const HIDING = ['file', 'thumb', '-', 'delete', 'delete_folder', 'rename', 'rename_folder'];

/** The root of the service, relative to the URL that was asked for, with a `/` at its end. */
export function baseOf(requestUrl: string): string {
  return relativeTo(requestUrl, '/') || './';
}

/** Whether a GET of this URL is one of a folder, be it there or not. */
export function isListed(requestUrl: string): boolean {
  return !HIDING.some((segment) => requestUrl.startsWith(`/${segment}/`));
}

export function folderUrl(base: string, folder: string): string {
  const [first = ''] = folder.split('/');
  return HIDING.includes(first) ? `${base}?prefix=${encodeURIComponent(folder)}` : base + escapePath(folder);
}

export function fileUrl(base: string, file: string): string {
  return `${base}file/${escapePath(file)}`;
}

export function assetUrl(base: string, name: string): string {
  return `${base}-/assets/${escapePath(name)}`;
}

const escapePath = (path: string) => path.split('/').map(encodeURIComponent).join('/');
