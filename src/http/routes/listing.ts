import { quoted } from '../../domain/error.ts';
import { type FolderPath, nameOf, parseFolder, ROOT } from '../../domain/path.ts';
import type { Entry } from '../../domain/store.ts';
import { clientSignal } from '../client-signal.ts';
import { HttpError } from '../errors.ts';
import { quote } from '../preconditions.ts';
import { Failure, Listing, ListingQuery, PathParameter } from '../schemas.ts';
import type { App, Service } from '../service.ts';

export function listingRoutes(app: App, { files }: Service): void {
  const shared = {
    tags: ['Folders'],
    summary: 'List a folder',
    description: 'The folder is the path or `prefix`; `prefix` reaches those that a route hides, such as `file/`.',
    querystring: ListingQuery,
    response: { 200: Listing, '4xx': Failure, '5xx': Failure },
  };

  const list = async (
    folder: FolderPath,
    query: { cursor?: string; limit?: number },
    signal: AbortSignal,
  ): Promise<Listing> => {
    const { entries, cursor } = await files.list(folder, { cursor: query.cursor, limit: query.limit, signal });
    return { success: true, prefix: folder, entries: entries.map(describe), ...(cursor !== undefined && { cursor }) };
  };

  app.get('/', { schema: shared, preValidation: requireUtf8Query }, async ({ query }, reply) =>
    list(folderOf('', query.prefix), query, clientSignal(reply)),
  );
  app.get(
    '/*',
    { schema: { ...shared, params: PathParameter }, preValidation: requireUtf8Query },
    async ({ params, query }, reply) => list(folderOf(params['*'], query.prefix), query, clientSignal(reply)),
  );
}

/** The router's parser of queries leaves escapes that are not UTF-8 as they are, as if they were names. */
async function requireUtf8Query({ url }: { url: string }): Promise<void> {
  try {
    decodeURIComponent(url.slice(url.indexOf('?') + 1));
  } catch {
    throw new HttpError(400, 'The query has a percent escape that is not UTF-8.');
  }
}

/** The folder that a path and `?prefix=` name together: one of them, or both the same. */
function folderOf(path: string, prefix: string | undefined): FolderPath {
  const byPath = parseFolder(path);
  if (prefix === undefined || prefix === '') return byPath;
  const byQuery = parseFolder(prefix);
  if (byPath === ROOT || byPath === byQuery) return byQuery;
  throw new HttpError(
    400,
    `The path names the folder ${quoted(byPath)} and "prefix" the folder ${quoted(byQuery)}: give one of them.`,
  );
}

function describe(entry: Entry): Listing['entries'][number] {
  const { path } = entry;
  if (entry.kind === 'folder') return { type: 'folder', name: nameOf(path), path };
  return {
    type: 'file',
    name: nameOf(path),
    path,
    size: entry.size,
    modified: entry.modified?.toISOString() ?? null,
    contentType: entry.type,
    etag: quote(entry.etag),
    ...(entry.publicUrl !== undefined && { publicUrl: entry.publicUrl }),
  };
}
