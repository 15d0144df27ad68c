import { type KeptId, parseKeptId } from '../../model/kept-ids.ts';
import { parseFile } from '../../model/path.ts';
import type { FileVersion } from '../../model/store.ts';
import { accessOf, changeOf } from '../access/request-access.ts';
import type { App } from '../fastify-app.ts';
import { clientSignal } from '../long-operations.ts';
import { finderOf, quoteEtag, requireFileConditions, writeCondition } from '../preconditions.ts';
import {
  Failure,
  PathParameter,
  RestoreVersion,
  Success,
  VersionList,
  VersionRestored,
  VersionsQuery,
} from '../schemas.ts';

/** Registers the route that lists the versions of a file. */
export function listVersionsRoute(app: App): void {
  app.get(
    '/-/versions/*',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Versions'],
        summary: 'List the versions of a file',
        description:
          'Returns the earlier contents of a path, also after the file was deleted. `/file/{path}?version={id}` returns one of them.',
        params: PathParameter,
        querystring: VersionsQuery,
        response: { 200: VersionList, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const file = parseFile(request.params['*']);
      const signal = clientSignal(reply);
      const { versions, cursor } = await accessOf(request).files.listVersions(file, { ...request.query, signal });
      reply.header('cache-control', 'no-store');
      return {
        success: true,
        versions: versions.map(describe),
        ...(cursor !== undefined && { cursor }),
      } satisfies VersionList;
    },
  );
}

/** Registers the route that restores a version. */
export function restoreVersionRoute(app: App): void {
  app.post(
    '/-/versions/*',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Versions'],
        summary: 'Restore a version of a file',
        description:
          'Makes a version the current content. The content that it replaces becomes a version. Accepts the conditions of an upload.',
        params: PathParameter,
        body: RestoreVersion,
        response: { 200: VersionRestored, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const file = parseFile(request.params['*']);
      const version = parseKeptId(request.body.version);
      const { files } = accessOf(request);
      const condition = await writeCondition(request.headers, finderOf(files, file));
      const { path, etag } = await files.restoreVersion(file, version, { condition });
      reply.header('etag', quoteEtag(etag));
      return { success: true, message: 'Version restored successfully', path, ...changeOf(request) } as const;
    },
  );
}

/** Registers the route that deletes the versions of a file. */
export function deleteVersionsRoute(app: App): void {
  app.delete(
    '/-/versions/*',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Versions'],
        summary: 'Delete the versions of a file',
        description: 'Deletes all earlier contents of a path permanently. The current content stays.',
        params: PathParameter,
        response: { 200: Success, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request) => {
      const file = parseFile(request.params['*']);
      const { files } = accessOf(request);
      await requireFileConditions(request.headers, files, file);
      await files.deleteVersions(file);
      return { success: true, message: 'Versions deleted successfully' } as const;
    },
  );
}

/** Parses the parameter `version` of a request for a file; undefined for its current content. */
export function parseVersion(version: string | undefined): KeptId | undefined {
  return version === undefined ? undefined : parseKeptId(version);
}

function describe({ id, size, modified, replacedAt, replacedBy, user, message }: FileVersion) {
  return {
    id,
    size,
    modified: modified?.toISOString() ?? null,
    replacedAt: replacedAt.toISOString(),
    ...(replacedBy !== undefined && { replacedBy }),
    ...(user !== undefined && { user }),
    ...(message !== undefined && { message }),
  };
}
