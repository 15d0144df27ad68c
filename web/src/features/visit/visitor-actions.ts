import type { VisitorLink } from '../../../../src/http/schemas.ts';
import { ACTIONS, type ActionDefinition } from '../actions/action-list.ts';
import { DOWNLOAD_ALL } from './download-all.ts';

/** Returns the actions of the visitor of a link, without those that need an account or the log of changes. */
export function visitorActions(link: Pick<VisitorLink, 'askSender'> | null): readonly ActionDefinition[] {
  const excluded = ['undo', 'redo', 'trash', 'edit', 'newFile', ...(link?.askSender ? ['newFolder'] : [])];
  return [DOWNLOAD_ALL, ...ACTIONS.filter(({ id }) => !excluded.includes(id))];
}
