import { nameOf } from '../../platform/paths.ts';
import { type Link, revokeLink } from '../../platform/service/links.ts';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import type { Text } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import type { ChangeContext } from '../changes/change-context.ts';
import { describeErrors } from '../changes/change-texts.ts';
import type { Links } from './links.ts';

/** Returns the name of a shared item as users see it. */
export function sharedName(path: string, text: Pick<Text, 'shell'>): string {
  return path === '' ? folderName(path, text) : nameOf(path);
}

/** Returns the parameters of a message about links, which names the item of a single one and counts several. */
export function linksSubject(links: readonly Link[], text: Text): { readonly count: number; readonly name: string } {
  return { count: links.length, name: sharedName(links[0]?.path ?? '', text) };
}

/** Revokes links, and shows messages. Returns those that visitors can no longer use. */
export async function revokeLinks(
  { service, messages, operations, language }: ChangeContext,
  links: Links,
  revoking: readonly Link[],
): Promise<readonly Link[]> {
  const { text } = language.value;
  const { done, failed } = await operations.perform(revoking, {
    title: text.links.revoking(linksSubject(revoking, text)),
    // The items themselves do not change.
    paths: { written: [] },
    work: ({ id }) => revokeIfPresent(service, id),
  });
  const revoked = done.map(({ item }) => item);
  if (revoked.length > 0) {
    links.changes.value++;
    messages.show({ kind: 'done', text: text.links.revoked(linksSubject(revoked, text)) });
  }
  if (failed.length > 0) {
    const subject = linksSubject(
      failed.map(({ item }) => item),
      text,
    );
    const errors = failed.map(({ error }) => error);
    messages.show({
      kind: 'error',
      text: text.links.notRevoked(subject),
      detail: describeErrors(errors, language.value),
    });
  }
  return revoked;
}

/** Another user can have revoked the link, so that it no longer exists. */
async function revokeIfPresent(service: Pick<Service, 'send'>, id: string): Promise<void> {
  try {
    await revokeLink(service, id);
  } catch (error) {
    if (!asServiceError(error).isNotFound) throw error;
  }
}
