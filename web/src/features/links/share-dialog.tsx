import { Fragment } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { emptyForm, newLinkOf } from '../../model/links/link-form.ts';
import { sharedName } from '../../model/links/revoke.ts';
import { isFolderPath } from '../../platform/paths.ts';
import {
  type CreatedLink as Created,
  createLink,
  type Link,
  listLinks,
  MAX_LINKS_PER_PAGE,
} from '../../platform/service/links.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { type Loaded, useLoaded } from '../../ui/loading.ts';
import { useStepFocus } from '../../ui/step-focus.ts';
import { useLinks, useRouter, useService } from '../models.ts';
import { useAllowedAccess } from './allowed-access.ts';
import { CopyLinkButton, CreatedLink } from './created-link.tsx';
import { LinkFields } from './link-fields.tsx';
import { useLinkForm } from './link-form-state.ts';
import { LinkRows } from './link-rows.tsx';
import './links.css';

/** Opens the dialog that creates, changes and revokes the links to a file or folder. */
export function openShareDialog(dialogs: Dialogs, path: string): void {
  void dialogs.open((close) => <ShareDialog path={path} close={() => close(null)} />);
}

interface ShareProps {
  path: string;
  close: () => void;
}

/** What the dialog shows: the links of the item, the form of a new one, or the URL of a new one. */
type Step = 'links' | 'new' | 'created';

function ShareDialog({ path, close }: ShareProps) {
  const links = useLinks();
  const service = useService();
  const { text } = useFullLanguage();
  const allowed = useAllowedAccess(path);
  const loaded = useItemLinks(path);
  const [isNew, setNew] = useState(false);
  const [created, setCreated] = useState<Created>();
  const form = useLinkForm({
    first: emptyForm(allowed[0] ?? 'view'),
    isExisting: false,
    failed: text.links.notCreated,
    async send(settings, now) {
      setCreated(await createLink(service, path, newLinkOf(settings, now)));
      if (links) links.changes.value++;
    },
  });
  // Without links, users want to create one.
  const isEmpty = loaded.state === 'ready' && loaded.value.length === 0;
  const step: Step = created ? 'created' : isNew || isEmpty ? 'new' : 'links';
  const body = useStepFocus(step);
  return (
    <Dialog
      title={created ? text.links.createdTitle : text.links.title({ name: sharedName(path, text) })}
      onClose={close}
      onSubmit={() => step === 'new' && form.submit()}
      actions={
        <Fragment key={step}>
          {created && <CreatedButtons url={created.url} close={close} />}
          {step === 'links' && <LinksButtons path={path} close={close} onNew={() => setNew(true)} />}
          {step === 'new' && (
            <>
              <Button onClick={isEmpty ? close : () => setNew(false)}>
                {isEmpty ? text.controls.cancel : text.links.back}
              </Button>
              <Button kind="primary" type="submit" disabled={form.isSending}>
                {text.links.create}
              </Button>
            </>
          )}
        </Fragment>
      }
    >
      <div ref={body}>
        {created && <CreatedLink created={created} />}
        {step === 'links' && <ItemLinks loaded={loaded} />}
        {step === 'new' && (
          <>
            <LinkFields state={form} path={path} allowed={allowed} />
            <p class="link-failure" role="alert">
              {form.failure}
            </p>
          </>
        )}
      </div>
    </Dialog>
  );
}

/** Reads the links of an item, at most one page. While it reads them again, returns the previous ones. */
function useItemLinks(path: string): Loaded<readonly Link[]> {
  const service = useService();
  const links = useLinks();
  const last = useRef<Loaded<readonly Link[]> | undefined>(undefined);
  const loaded = useLoaded(
    async (signal) => (await listLinks(service, { path, limit: MAX_LINKS_PER_PAGE, signal })).links,
    [path, links?.changes.value],
  );
  if (loaded.state === 'ready') last.current = loaded;
  return loaded.state === 'loading' ? (last.current ?? loaded) : loaded;
}

function ItemLinks({ loaded }: { loaded: Loaded<readonly Link[]> }) {
  const language = useFullLanguage();
  const { text } = language;
  return (
    <div class="shared-links">
      {loaded.state === 'loading' && <p role="status">{text.folder.loading}</p>}
      {loaded.state === 'failed' && (
        <div role="alert">
          <p>{`${text.links.loadFailed} ${language.reasonOf(asServiceError(loaded.error))}`}</p>
          <Button onClick={loaded.retry}>{text.controls.retry}</Button>
        </div>
      )}
      {loaded.state === 'ready' && (
        <>
          <LinkRows links={loaded.value} />
          <p class="hint">{text.links.lost}</p>
        </>
      )}
    </div>
  );
}

function LinksButtons({ path, close, onNew }: ShareProps & { onNew: () => void }) {
  const router = useRouter();
  const { text } = useFullLanguage();
  const showAll = () => {
    close();
    router.openView('links', path);
  };
  return (
    <>
      {isFolderPath(path) && <Button onClick={showAll}>{text.links.viewAll}</Button>}
      <Button kind="primary" autofocus onClick={onNew}>
        {text.links.new}
      </Button>
    </>
  );
}

function CreatedButtons({ url, close }: { url: string; close: () => void }) {
  const { text } = useFullLanguage();
  return (
    <>
      <Button onClick={close}>{text.links.done}</Button>
      <CopyLinkButton url={url} />
    </>
  );
}
