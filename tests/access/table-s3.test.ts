import { s3 } from '../contract/backend.ts';
import { accessTable } from './table.ts';

// What is rare is told apart before any store is asked, and so on the disk alone.
accessTable(s3);
