import { formOf, linkChangesOf } from '../../model/links/link-form.ts';
import { sharedName } from '../../model/links/revoke.ts';
import { changeLink, type Link } from '../../platform/service/links.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { useService } from '../models.ts';
import { useAllowedAccess } from './allowed-access.ts';
import { LinkFields } from './link-fields.tsx';
import { useLinkForm } from './link-form-state.ts';
import './links.css';

/** Changes a link. Resolves to true if the user has saved changes, otherwise to null. */
export function editLink(dialogs: Dialogs, link: Link): Promise<true | null> {
  return dialogs.open<true>((close) => <EditDialog link={link} close={close} />);
}

function EditDialog({ link, close }: { link: Link; close: (result: true | null) => void }) {
  const service = useService();
  const { text } = useFullLanguage();
  const { path } = link;
  const first = formOf(link);
  const state = useLinkForm({
    first,
    isExisting: true,
    failed: text.links.notChanged,
    async send(form, now) {
      const changes = linkChangesOf(form, first, now);
      const hasChanges = Object.keys(changes).length > 0;
      if (hasChanges) await changeLink(service, link.id, changes);
      close(hasChanges || null);
    },
  });
  return (
    <Dialog
      title={text.links.editTitle({ name: sharedName(path, text) })}
      onClose={() => close(null)}
      onSubmit={state.submit}
      actions={
        <>
          <Button onClick={() => close(null)}>{text.controls.cancel}</Button>
          <Button kind="primary" type="submit" disabled={state.isSending}>
            {text.links.save}
          </Button>
        </>
      }
    >
      <LinkFields state={state} path={path} allowed={useAllowedAccess(path)} />
      <p class="link-failure" role="alert">
        {state.failure}
      </p>
    </Dialog>
  );
}
