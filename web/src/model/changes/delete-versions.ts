import type { FileEntry } from '../../platform/service/service.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import { deleteVersions } from '../../platform/service/versions.ts';
import type { ChangeContext } from './change-context.ts';

/** Asks for confirmation, and deletes the earlier versions of a file. Shows a message about the result. */
export async function deleteFileVersions(context: ChangeContext, { path, name }: FileEntry): Promise<void> {
  const { service, messages, prompts, language } = context;
  if (!(await prompts.confirmDeleteVersions(name))) return;
  const { versions } = language.value.text;
  try {
    await deleteVersions(service, path);
    messages.show({ kind: 'done', text: versions.deleted({ name }) });
  } catch (error) {
    const detail = language.value.reasonOf(asServiceError(error));
    messages.show({ kind: 'error', text: versions.notDeleted({ name }), detail });
  }
}
