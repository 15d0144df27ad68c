import { useEffect, useState } from 'preact/hooks';
import { pages } from '../../platform/service/pages.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { reasonOf } from '../../platform/text/reason.ts';
import { Button } from '../../ui/button.tsx';
import { useFolder, useService } from '../models.ts';

/** How many items a folder has: known of the one that is shown, counted on demand of another. */
export function ItemCount({ folder: path }: { folder: string }) {
  const folder = useFolder();
  const { text } = useLanguage();
  const isKnown = folder.path.value === path && folder.state.value === 'ready';
  if (!isKnown) return <CountedItems folder={path} />;
  const count = folder.count.value;
  return (
    <span class="numbers">
      {folder.listing.value === 'complete' ? text.folder.items(count) : text.folder.loadingMore(count)}
    </span>
  );
}

type Counting =
  | { readonly state: 'unasked' }
  | { readonly state: 'counting' | 'counted'; readonly count: number }
  | { readonly state: 'failed'; readonly problem: ServiceError };

function CountedItems({ folder }: { folder: string }) {
  const service = useService();
  const { text } = useLanguage();
  const [counting, setCounting] = useState<Counting>({ state: 'unasked' });
  const isCounting = counting.state === 'counting';

  useEffect(() => {
    if (!isCounting) return undefined;
    const aborting = new AbortController();
    const count = async () => {
      let items = 0;
      for await (const { entries, cursor } of pages(service, folder, aborting.signal)) {
        items += entries.length;
        setCounting({ state: cursor === undefined ? 'counted' : 'counting', count: items });
      }
    };
    count().catch((error: unknown) => {
      if (!isAbort(error)) setCounting({ state: 'failed', problem: asServiceError(error) });
    });
    return () => aborting.abort();
  }, [isCounting, folder]);

  const start = () => setCounting({ state: 'counting', count: 0 });
  return (
    <span role="status">
      {counting.state === 'unasked' && <Button onClick={start}>{text.details.count}</Button>}
      {counting.state === 'counting' && text.folder.loadingMore(counting.count)}
      {counting.state === 'counted' && text.folder.items(counting.count)}
      {counting.state === 'failed' && (
        <>
          <p>{reasonOf(counting.problem, text)}</p>
          <Button onClick={start}>{text.controls.retry}</Button>
        </>
      )}
    </span>
  );
}
