"""Column segments: what facets, histograms and statistics are counted from."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0009_forks'),
    ]

    operations = [
        migrations.CreateModel(
            name='Segment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('low', models.BigIntegerField()),
                ('high', models.BigIntegerField()),
                ('turns', models.IntegerField()),
                ('seq', models.BigIntegerField()),
                ('live', models.BooleanField(default=False)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('live', True)), fields=('low',), name='segment_low')],
            },
        ),
        migrations.CreateModel(
            name='SegmentColumn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40)),
                ('least', models.BigIntegerField(null=True)),
                ('most', models.BigIntegerField(null=True)),
                ('data', models.BinaryField()),
                ('segment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='columns', to='agents.segment')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('segment', 'name'), name='segment_column')],
            },
        ),
    ]
