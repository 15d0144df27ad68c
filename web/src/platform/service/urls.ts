import { nameOf } from '../paths.ts';

/** Where things are, as absolute URLs. */
export interface Urls {
  /** The page of a folder, with the preview of one of its files open where `preview` names one. */
  page(folder: string, preview?: string | null): string;
  /** The folder and the preview that a URL of the page names. */
  routeOf(url: URL): { readonly folder: string; readonly preview: string | null };
  file(path: string): string;
  /** The file as an attachment of its name. */
  download(path: string): string;
  /** The thumbnail of a file as it is now: another etag is another URL, which no cache has. */
  thumbnail(path: string, etag: string): string;
  /** Where signing in by a provider begins, which leads back to `here` in the end. */
  signIn(here: URL): string;
  /** An endpoint, by its path below the service's root. */
  endpoint(path: string, query?: Readonly<Record<string, string>>): string;
}

/** First segments below which the service has other things than folders: these are reached by `?prefix=`. */
const HIDDEN = new Set(['file', 'thumb', '-', 'delete', 'delete_folder', 'rename', 'rename_folder']);

/** `base`: the service's root, which a proxy may have put anywhere. */
export function createUrls(base: URL): Urls {
  const endpoint = (path: string, query: Readonly<Record<string, string>> = {}) => {
    const url = new URL(base);
    url.pathname += path;
    url.search = new URLSearchParams(query).toString();
    return url.href;
  };

  return {
    endpoint,
    page(folder, preview) {
      const query: Record<string, string> = preview == null ? {} : { preview: nameOf(preview) };
      const [first = ''] = folder.split('/');
      return HIDDEN.has(first) ? endpoint('', { prefix: folder, ...query }) : endpoint(escapePath(folder), query);
    },
    routeOf(url) {
      const path = unescapePath(url.pathname.slice(base.pathname.length));
      const folder = withSlash(url.searchParams.get('prefix') || path);
      const preview = url.searchParams.get('preview');
      return { folder, preview: preview ? folder + preview : null };
    },
    signIn: ({ pathname, search }) => endpoint('-/sign-in', { return: pathname.slice(base.pathname.length) + search }),
    file: (path) => endpoint(`file/${escapePath(path)}`),
    download: (path) => endpoint(`file/${escapePath(path)}`, { download: '1' }),
    thumbnail: (path, etag) => endpoint(`thumb/${escapePath(path)}`, { v: etag }),
  };
}

/** A path for use in a URL's path: every segment escaped, the slashes between them not. */
export function escapePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** What is no escape of UTF-8 stays as it is: the service will say what is wrong with such a path. */
function unescapePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function withSlash(path: string): string {
  return path === '' || path.endsWith('/') ? path : `${path}/`;
}
