import { nameOf } from '../../platform/paths.ts';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import type { ChangeContext } from './change-context.ts';

interface DeletionContext extends Pick<ChangeContext, 'messages' | 'language'> {
  readonly service: Pick<Service, 'send'>;
}

/** Deletes the earlier versions of a file. Resolves to whether that succeeded; otherwise shows a message. */
export async function deleteEarlierVersions(
  { service, messages, language }: DeletionContext,
  path: string,
): Promise<boolean> {
  try {
    const { deleteVersions } = await import('../../platform/service/versions.ts');
    await deleteVersions(service, path);
    return true;
  } catch (error) {
    const { text, reasonOf } = language.value;
    const said = text.versions.notDeleted({ name: nameOf(path) });
    messages.show({ kind: 'error', text: said, detail: reasonOf(asServiceError(error)) });
    return false;
  }
}
