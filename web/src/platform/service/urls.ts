import { nameOf } from '../paths.ts';

/** Query parameters. `URLSearchParams` can have several with one name. */
export type Query = Readonly<Record<string, string>> | URLSearchParams;

/**
 * A list that the page shows instead of a folder: the trash, the recent files, or the share links to a folder and everything
 * in it.
 */
export type PageView = 'trash' | 'recent' | 'links';

/** The widths of previews, in pixels. */
export const PREVIEW_WIDTHS = [320, 640, 1024, 1600, 2560] as const;
export type PreviewWidth = (typeof PREVIEW_WIDTHS)[number];

/** Builds the absolute URLs of the service. */
export interface Urls {
  /** The page of a folder. `preview` is the path of a file in the folder whose preview is open. The trash is at the root. */
  page(folder: string, preview?: string | null, view?: PageView | null): string;
  /** Parses a URL of the page. */
  routeOf(url: URL): { readonly folder: string; readonly preview: string | null; readonly view: PageView | null };
  file(path: string): string;
  /** The URL that downloads the file as an attachment. */
  download(path: string): string;
  /** The thumbnail of a version of a file. Each ETag has its own URL, so no cache returns an outdated thumbnail. */
  thumbnail(path: string, etag: string): string;
  /** An image of a version of a file that is at most this many pixels wide. */
  preview(path: string, etag: string, width: PreviewWidth): string;
  /** The page that signs the user in at the identity provider, and then redirects to `here`. */
  signIn(here: URL): string;
  /** An endpoint by its path relative to the service's root. */
  endpoint(path: string, query?: Query): string;
}

/** First segments of the service's own routes with a path. Folders with these names are available through `?prefix=`. */
const RESERVED = new Set(['file', 'thumb', '-', 'delete', 'delete_folder', 'rename', 'rename_folder']);

/** `base` is the service's root, which can be any path of a reverse proxy. */
export function createUrls(base: URL): Urls {
  const endpoint = (path: string, query: Query = {}) => {
    const url = new URL(base);
    url.pathname += path;
    url.search = new URLSearchParams(query).toString();
    return url.href;
  };

  return {
    endpoint,
    page(folder, preview, view) {
      const query: Record<string, string> = {
        ...(preview != null && { preview: nameOf(preview) }),
        ...(view && { view }),
      };
      const [first = ''] = folder.split('/');
      return RESERVED.has(first) ? endpoint('', { prefix: folder, ...query }) : endpoint(escapePath(folder), query);
    },
    routeOf(url) {
      const path = unescapePath(url.pathname.slice(base.pathname.length));
      const folder = withSlash(url.searchParams.get('prefix') || path);
      const preview = url.searchParams.get('preview');
      const name = url.searchParams.get('view');
      const isOfRoot = (name === 'trash' || name === 'recent') && folder === '';
      const view = name === 'links' || isOfRoot ? name : null;
      return { folder, preview: preview ? folder + preview : null, view };
    },
    signIn: ({ pathname, search }) => endpoint('-/sign-in', { return: pathname.slice(base.pathname.length) + search }),
    file: (path) => endpoint(`file/${escapePath(path)}`),
    download: (path) => endpoint(`file/${escapePath(path)}`, { download: '1' }),
    thumbnail: (path, etag) => endpoint(`thumb/${escapePath(path)}`, { v: etag }),
    preview: (path, etag, width) => endpoint(`-/preview/${escapePath(path)}`, { width: String(width), v: etag }),
  };
}

/** Escapes the segments of a path, but not the slashes between them. */
export function escapePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** Decodes a path. Returns an invalid one unchanged, so the service reports the error. */
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
