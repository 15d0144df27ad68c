import type { LinkList } from '../../model/links/link-list.ts';
import { linksSubject, revokeLinks, sharedName } from '../../model/links/revoke.ts';
import type { Link } from '../../platform/service/links.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { useDialogs } from '../../ui/dialogs.tsx';
import { useChanges, useLinks, useMessages } from '../models.ts';
import { confirmRevocation } from './confirm-revocation.tsx';
import { editLink } from './edit-dialog.tsx';

/** The actions for existing links. No method throws. */
export interface LinkActions {
  edit(link: Link): Promise<void>;
  /**
   * Asks for confirmation, and revokes links. `list` hides them until the service responds, and then shows those again that
   * could not be revoked.
   */
  revoke(links: readonly Link[], list?: Pick<LinkList, 'remove'>): Promise<void>;
}

export function useLinkActions(): LinkActions {
  const dialogs = useDialogs();
  const messages = useMessages();
  const changes = useChanges();
  const links = useLinks();
  const { text } = useFullLanguage();
  return {
    async edit(link) {
      if (!(await editLink(dialogs, link)) || !links) return;
      links.changes.value++;
      messages.show({ kind: 'done', text: text.links.changed({ name: sharedName(link.path, text) }) });
    },
    async revoke(revoking, list) {
      if (revoking.length === 0 || !links) return;
      if (!(await confirmRevocation(dialogs, linksSubject(revoking, text)))) return;
      await changes.perform(async ({ context }) => {
        const work = () => revokeLinks(context, links, revoking);
        await (list ? list.remove(revoking, work) : work());
      });
    },
  };
}
