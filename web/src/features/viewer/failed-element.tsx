import { useEffect, useState } from 'preact/hooks';
import type { FileEntry } from '../../platform/service/service.ts';
import { useLoaded } from '../../ui/use-loaded.ts';
import { useAccount, useService } from '../models.ts';
import { ContentProblem } from './content-problem.tsx';
import { Loading } from './loading.tsx';
import { NoPreview } from './no-preview.tsx';

interface FailedElementProps {
  entry: FileEntry;
  /** What it is if the file itself is there. */
  reason: string;
  hint?: string | undefined;
  onRetry: () => void;
}

/** In the place of an image or a video that did not load: the browser does not tell why, so the service is asked. */
export function FailedElement({ entry, reason, hint, onRetry }: FailedElementProps) {
  const service = useService();
  const account = useAccount();
  const signIns = account?.times.value ?? 0;
  const [before] = useState(signIns);
  // It was refused, and is not any more.
  useEffect(() => {
    if (signIns !== before) onRetry();
  }, [signIns]);
  const checked = useLoaded((signal) => service.check(entry.path, signal));
  if (checked.state === 'loading') return <Loading />;
  if (checked.state === 'failed') return <ContentProblem entry={entry} error={checked.error} onRetry={onRetry} />;
  return <NoPreview entry={entry} reason={reason} hint={hint} />;
}
