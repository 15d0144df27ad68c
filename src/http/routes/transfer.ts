import { parseFile, parseFolder } from '../../domain/path.ts';
import type { LongOperations } from '../long-operations.ts';
import { Failure, Success, Transfer } from '../schemas.ts';
import type { App, Service } from '../service.ts';
import { PROGRESS } from './folders.ts';

/** `/copy` and `/move`, which differ in nothing but what is done. */
export function transferRoutes(app: App, { files }: Service, operations: LongOperations): void {
  const routes = [
    {
      url: '/copy',
      summary: 'Copy a file or folder',
      message: 'Item copied successfully',
      transferFile: files.copyFile,
      transferFolder: files.copyFolder,
    },
    {
      url: '/move',
      summary: 'Move a file or folder',
      message: 'Item moved successfully',
      transferFile: files.moveFile,
      transferFolder: files.moveFolder,
    },
  ] as const;

  for (const { url, summary, message, transferFile, transferFolder } of routes) {
    app.post(
      url,
      {
        schema: {
          tags: ['Files and folders'],
          summary,
          description: `A folder goes with everything in it. For folders: ${PROGRESS}`,
          body: Transfer,
          response: { 200: Success, '4xx': Failure, '5xx': Failure },
        },
      },
      async (request, reply) => {
        const { source, destination, is_folder: isFolder, overwrite: replace = false } = request.body;
        const envelope = { success: true, message } as const;
        if (!isFolder) {
          await transferFile(parseFile(source), parseFile(destination), { replace });
          return envelope;
        }
        const from = parseFolder(source);
        const to = parseFolder(destination);
        return operations.answer(request, reply, async (options) => {
          await transferFolder(from, to, { ...options, replace });
          return envelope;
        });
      },
    );
  }
}
