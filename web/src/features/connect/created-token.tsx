import { davUrl } from '../../model/connect/address.ts';
import type { CreatedAppToken } from '../../platform/service/app-tokens.ts';
import { CopyOutcome, useCopying } from '../../ui/copy-button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useAccount } from '../models.ts';
import { useConnectText } from './connect-text.ts';
import { CopyField } from './copy-field.tsx';

/** What the user enters in the app: the address, the username, and the secret of a new token, which can't be shown again. */
export function CreatedToken({ created: { token, secret }, root }: { created: CreatedAppToken; root: string }) {
  const text = useConnectText();
  const username = useAccount()?.username.value;
  return (
    <div class="created-token">
      <p class="once">
        <Icon name="lock" />
        <span>{text.token.once}</span>
      </p>
      <CopyField label={text.token.token} copyLabel={text.copyToken} value={secret} />
      {username != null && <CopyField label={text.username} copyLabel={text.copyUsername} value={username} />}
      <CopyField label={text.address} copyLabel={text.copyAddress} value={davUrl(root, token.folder).href} />
    </div>
  );
}

/** The main button of the dialog. It shows the outcome instead of its label for some seconds. */
export function CopySecretButton({ secret }: { secret: string }) {
  const { copyToken } = useConnectText();
  const { button, outcome, status, copyValue } = useCopying(secret, 'copy');
  return (
    <span class="copy-link-button">
      <button ref={button} class="button primary" type="button" autofocus onClick={copyValue}>
        {status}
        <span>{outcome ?? copyToken}</span>
      </button>
      <CopyOutcome outcome={outcome} />
    </span>
  );
}
