import type { ChangeLog } from '../../changes/log.ts';
import type { RecordedChange } from '../../files/recorded-files.ts';
import type { Store } from '../../model/store.ts';
import { readOnlyError } from '../../model/store-errors.ts';
import { undo } from '../../undo/undo.ts';
import { accessOf, changeOf } from '../access/request-access.ts';
import type { App } from '../fastify-app.ts';
import type { LongOperations } from '../long-operations.ts';
import { quoteEtag } from '../preconditions.ts';
import { Failure, Undo, Undone, withProgress } from '../schemas.ts';
import { STREAM_DESCRIPTION } from './files.ts';

/** What the route uses. */
interface UndoRouteOptions {
  readonly log: ChangeLog;
  readonly operations: LongOperations;
  readonly readOnly: boolean;
  readonly identify: Store['identify'];
}

/** Registers the route that undoes a change. */
export function undoRoute(app: App, { log, operations, readOnly, identify }: UndoRouteOptions): void {
  app.post(
    '/-/undo',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Changes'],
        summary: 'Undo a change',
        description: `Reverses a change, if what came after it allows that. The undo is itself a change: undoing it redoes the change. ${STREAM_DESCRIPTION}`,
        body: Undo,
        response: { 200: withProgress(Undone), '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      if (readOnly) throw readOnlyError();
      const access = accessOf(request);
      return operations.run(request, reply, async (options) => {
        await undo(request.body.change, {
          ...options,
          log,
          identify,
          files: access.files,
          filesToUndo: (sequence) => access.filesToUndo(sequence),
        });
        const changes = access.changes.map(describe);
        return { success: true, message: 'Change undone successfully', changes, ...changeOf(request) } as const;
      });
    },
  );
}

function describe({ change: { etag, ...change } }: RecordedChange) {
  return { ...change, ...(etag !== undefined && { etag: quoteEtag(etag) }) };
}
