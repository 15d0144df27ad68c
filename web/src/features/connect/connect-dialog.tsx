import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { allowsPasswords, davUrl } from '../../model/connect/address.ts';
import type { CreatedAppToken } from '../../platform/service/app-tokens.ts';
import { type FullLanguage, useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useStepFocus } from '../../ui/step-focus.ts';
import { useAccount, useDav, useFolder, useUrls } from '../models.ts';
import { AddressFields } from './address-fields.tsx';
import { ClientSteps } from './client-steps.tsx';
import { ConnectTextProvider, loadConnectText, useConnectText } from './connect-text.ts';
import { CopySecretButton, CreatedToken } from './created-token.tsx';
import { SignInSection } from './sign-in-section.tsx';
import { TokenFields } from './token-fields.tsx';
import { useTokenForm } from './token-form-state.ts';
import './connect.css';

/** Opens the dialog that describes how clients connect by WebDAV, and manages the app tokens of the user. */
export async function openConnectDialog(dialogs: Dialogs, language: FullLanguage): Promise<void> {
  const text = await loadConnectText(language);
  void dialogs.open((close) => (
    <ConnectTextProvider value={text}>
      <ConnectDialog close={() => close(null)} />
    </ConnectTextProvider>
  ));
}

function ConnectDialog({ close }: { close: () => void }) {
  const dav = useDav();
  const urls = useUrls();
  const account = useAccount();
  const text = useConnectText();
  const language = useFullLanguage();
  const { value: shown } = useFolder().path;
  const root = dav?.root ?? urls.endpoint('');
  const [folder, setFolder] = useState('');
  const [isNew, setNew] = useState(false);
  const [created, setCreated] = useState<CreatedAppToken>();
  const form = useTokenForm((token) => {
    setNew(false);
    setCreated(token);
  });
  const step = created ? 'created' : isNew ? 'new' : 'clients';
  const body = useStepFocus(step);
  const url = davUrl(root, folder);
  const username = account ? (account.username.value ?? undefined) : null;
  return (
    <Dialog
      title={created ? text.token.created : isNew ? text.token.title : language.text.actions.connect}
      kind="wide"
      onClose={close}
      onSubmit={() => isNew && form.submit()}
      actions={
        step !== 'clients' && (
          <Fragment key={step}>
            {created ? (
              <>
                <Button onClick={() => setCreated(undefined)}>{language.text.links.done}</Button>
                <CopySecretButton secret={created.secret} />
              </>
            ) : (
              <>
                <Button onClick={() => setNew(false)}>{language.text.links.back}</Button>
                <Button kind="primary" type="submit" disabled={form.isSending}>
                  {text.createToken}
                </Button>
              </>
            )}
          </Fragment>
        )
      }
    >
      <div ref={body} class="connect">
        {step === 'clients' && (
          <>
            <p>{text.intro}</p>
            <AddressFields url={url} folder={folder} shown={shown} onChange={setFolder} />
            {account && !allowsPasswords(url) && (
              <p class="warning">
                <Icon name="warning" />
                <span>{text.insecure}</span>
              </p>
            )}
            <SignInSection
              onNew={() => {
                form.reset();
                setNew(true);
              }}
            />
            <ClientSteps connection={{ url, username }} />
          </>
        )}
        {step === 'new' && <TokenFields state={form} shown={shown} />}
        {created && <CreatedToken created={created} root={root} />}
      </div>
    </Dialog>
  );
}
