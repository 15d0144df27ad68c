import { turnedJpeg, UnsupportedJpegError } from '../../platform/jpeg-orientation.ts';
import { parentOf } from '../../platform/paths.ts';
import { StoreAccessError } from '../../platform/service/content.ts';
import { readPhoto, replacePhoto } from '../../platform/service/photo-content.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import type { ChangeContext } from './change-context.ts';

/**
 * Turns a JPEG clockwise by quarter turns, by its orientation tag. Shows a message if that fails. The user can undo it. Resolves
 * to whether it succeeded.
 */
export function rotatePhoto(context: ChangeContext, entry: FileEntry, turns: number): Promise<boolean> {
  return context.trackChange((offerUndo) => rotateAndReport({ ...context, offerUndo }, entry, turns));
}

async function rotateAndReport(context: ChangeContext, entry: FileEntry, turns: number): Promise<boolean> {
  const { folder, service, messages, operations, language } = context;
  const { path, name } = entry;
  const failure: { reason?: string } = {};
  const { done, failed } = await operations.perform([entry], {
    title: language.value.text.changes.rotating({ name }),
    paths: { written: [path] },
    async work() {
      try {
        const turned = await turnedJpeg(await readPhoto(service, entry), turns);
        return { ...(await replacePhoto(service, entry, turned)), size: turned.size };
      } catch (error) {
        failure.reason = reasonOf(error, language.value);
        throw error;
      }
    },
  });
  const [first] = done;
  if (first) {
    const { etag, size, change } = first.result;
    folder.apply({ removed: [], added: [{ ...entry, etag, size }] });
    context.offerUndo([{ change, path, removed: [], added: [] }], language.value.text.changes.rotated({ name }));
  }
  for (const { error } of failed) {
    const detail = failure.reason ?? language.value.reasonOf(error);
    messages.show({ kind: 'error', text: language.value.text.changes.notRotated({ name }), detail });
  }
  context.refresh([parentOf(path)]);
  return first !== undefined;
}

/** Returns the reason of an error that is not of the service. */
function reasonOf(error: unknown, { text }: FullLanguage): string | undefined {
  if (error instanceof UnsupportedJpegError) return text.changes.notRotatable;
  return error instanceof StoreAccessError ? text.previews.storeFailedHint : undefined;
}
